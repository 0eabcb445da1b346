//go:build explore

package admission

import (
	"testing"

	"github.com/suiro-go/suiro/internal/explore/mutants"
)

const two = "TestExploreListenersThatWaitForRoom/two"

var mistakes = map[string]mutants.Mutant{
	"one that looks before it takes the lock": mutants.In("limits.go", two,
		"l.mu.Lock()\n\tdefer l.mu.Unlock()\n\tif l.all.Load() < int64(l.Most) {",
		"room := l.all.Load() < int64(l.Most)\n\tl.mu.Lock()\n\tdefer l.mu.Unlock()\n\tif room {"),
	"one that waits and does not register": mutants.In("limits.go", two,
		"l.waiting.PushBack(&p.node)", "_ = l.waiting"),
	"an end that wakes before it counts": mutants.In("limits.go", two,
		"l.all.Add(-1)\n\tvar batch", "defer l.all.Add(-1)\n\tvar batch"),
	"an end that wakes one listener of several": mutants.In("limits.go", "TestExploreAListenerThatCloses",
		"n < min(left, list.Batch)", "n < min(left, 1)", "left - n //", "0 //"),
	"an end that wakes one batch of several": mutants.In("limits.go", "TestExploreABatch",
		"left - n //", "0 //"),
	"one that withdraws and stays registered": mutants.In("limits.go", "TestExploreAListenerThatCloses",
		"l.waiting.Remove(&p.node)", "_ = p.node.Listed()"),
	"a slot that is taken without a comparison": mutants.In("limits.go", two,
		"if l.all.CompareAndSwap(n, n+1) {", "if l.all.Add(1) > n {"),
	"a source that stays counted while its connection waits": mutants.In("limits.go", "TestExploreListenersThatWaitForRoom/two,_of",
		"l.leaveSource(source)\n\tif l.Waits", "if l.Waits"),
}

// The explorer is worth what it finds: each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) { mutants.MustAllBeCaught(t, mistakes) }
