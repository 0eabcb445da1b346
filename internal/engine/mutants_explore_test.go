//go:build explore

package engine

import (
	"testing"

	"github.com/suiro-go/suiro/internal/explore/mutants"
)

const takers = "TestExploreTheTaker"

// The explorer is worth what it finds: each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) {
	mutants.MustAllBeCaught(t, map[string]mutants.Mutant{
		"a rescue without the lock": mutants.In("driver.go", takers,
			"if !d.taker.TryLock() {\n\t\treturn woken\n\t}\n\tdefer d.taker.Unlock()\n", ""),
		"a rescue that delivers after the lock": mutants.In("driver.go", takers,
			"return woken\n\t}\n\tdefer d.taker.Unlock()\n", "return woken\n\t}\n",
			"n = 0 // the owner will meet the same error, and has the say about it\n\t}\n", "n = 0\n\t}\n\td.taker.Unlock()\n"),
		"a poll that delivers after the lock": mutants.In("driver.go", takers,
			"d.taker.Lock()\n\tdefer d.taker.Unlock()\n\tn, err := d.R.Poll(d.completions[:], wait, hold)\n",
			"d.taker.Lock()\n\tn, err := d.R.Poll(d.completions[:], wait, hold)\n\td.taker.Unlock()\n"),
		"a poll that waits without the lock": mutants.In("driver.go", takers,
			"d.taker.Lock()\n\tdefer d.taker.Unlock()\n\tn, err := d.R.Poll(d.completions[:], wait, hold)\n",
			"n, err := d.R.Poll(d.completions[:], wait, hold)\n\td.taker.Lock()\n\tdefer d.taker.Unlock()\n"),
		"a close beside a rescue": mutants.In("driver.go", takers,
			"d.taker.Lock() // no rescue is under way, nor will one find the reactor open\n\tdefer d.taker.Unlock()\n", ""),
	})
}
