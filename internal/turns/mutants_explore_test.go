//go:build explore

package turns

import (
	"testing"

	"github.com/suiro-go/suiro/internal/explore/mutants"
)

const (
	byTurns = "TestExploreHandshakesByTurns/two"
	stopped = "TestExploreAHandshakeThatIsStopped"
)

var mistakes = map[string]mutants.Mutant{
	"a turn that is left twice":             mutants.In("turns.go", stopped, "u.given = false\n", "_ = u.given\n"),
	"one more than the limit":               mutants.In("turns.go", byTurns, "if t.running >= limit {", "if t.running > limit {"),
	"a turn that is given without a signal": mutants.In("turns.go", byTurns, "next.Signal()", "_ = next.Signal"),
	"a goroutine that is begun again":       mutants.In("turns.go", byTurns, "v.given, v.begun = true, true", "v.given = true"),
	"one that withdraws and stays in line":  mutants.In("turns.go", stopped, "return t.queue.Remove(&u.place)", "return u.place.Listed()"),
	"one that is withdrawn while it waits by itself": mutants.In("turns.go", stopped,
		"if !u.begun {\n\t\tt.queue", "if true {\n\t\tt.queue"),
	"a turn that nobody waits for and nobody leaves": mutants.In("turns.go", byTurns, "t.running--", "_ = t.running"),
	"a turn that is taken without the lock": mutants.In("turns.go", byTurns,
		"t.mu.Lock()\n\tdefer t.mu.Unlock()\n\tif t.running >= limit {",
		"full := t.running >= limit\n\tt.mu.Lock()\n\tdefer t.mu.Unlock()\n\tif full {"),
}

// The explorer is worth what it finds: each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) { mutants.MustAllBeCaught(t, mistakes) }
