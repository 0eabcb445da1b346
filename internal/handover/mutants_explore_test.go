//go:build explore

package handover

import (
	"testing"

	"github.com/suiro-go/suiro/internal/explore/mutants"
)

const (
	rings = "TestExploreASignalThat"
	gates = "TestExploreALimitThat"
)

var mistakes = map[string]mutants.Mutant{
	"a ring that looks before it counts": mutants.In("signal.go", rings,
		"s.changed.Add(1)\n\treturn !s.awake.Load()", "awake := s.awake.Load()\n\ts.changed.Add(1)\n\treturn !awake"),
	"a rest that looks before it lowers": mutants.In("signal.go", rings,
		"if s.rung {\n\t\ts.awake.Store(false)\n\t}\n\treturn s.seen != s.changed.Load()",
		"again = s.seen != s.changed.Load()\n\tif s.rung {\n\t\ts.awake.Store(false)\n\t}\n\treturn again"),
	"a rest that does not lower": mutants.In("signal.go", rings,
		"s.awake.Store(false)", "_ = s.awake"),
	"a rest that takes a ring for seen": mutants.In("signal.go", rings,
		"return s.seen != s.changed.Load()", "s.seen = s.changed.Load()\n\treturn false"),
	"a count of 0 that means nobody has rung": mutants.In("signal.go", "TestExploreASignalWhoseCountWraps",
		"s.seen, s.rung, isNew = changed, true, true", "s.seen, s.rung, isNew = changed, changed != 0, true"),
	"a taker that looks before it counts": mutants.In("limit.go", gates,
		"if l.waiting.Add(-1) > int64(l.Most/2) {",
		"l.mu.Lock()\n\tstopped := l.stopped\n\tl.mu.Unlock()\n\tif l.waiting.Add(-1) > int64(l.Most/2) {",
		"return l.Stopped()", "return stopped"),
	"a taker that wakes at less than half alone": mutants.In("limit.go", gates,
		"l.waiting.Add(-1) > int64(l.Most/2)", "l.waiting.Add(-1) >= int64(l.Most/2)"),
	"an arrival at the limit that wakes nobody": mutants.In("limit.go", "TestExploreALimitWithArrivals",
		"l.Stop()\n\treturn true", "l.Stop()\n\treturn false"),
	"an arrival at the limit that does not stop": mutants.In("limit.go", "TestExploreALimit",
		"l.Stop()\n\treturn true", "return true"),
	"a task that goes on although the limit is reached": mutants.In("limit.go", "TestExploreALimit",
		"for l.stopped && !l.Reached() {", "for l.stopped {"),
	"a task that looks before it takes the lock": mutants.In("limit.go", "TestExploreALimitWithArrivals",
		"l.mu.Lock()\n\tdefer l.mu.Unlock()\n\tfor l.stopped && !l.Reached() {",
		"reached := l.Reached()\n\tl.mu.Lock()\n\tdefer l.mu.Unlock()\n\tfor l.stopped && !reached {"),
}

// The explorer is worth what it finds: each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) { mutants.MustAllBeCaught(t, mistakes) }
