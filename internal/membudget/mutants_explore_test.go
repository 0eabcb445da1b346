//go:build explore

package membudget

import (
	"testing"

	"github.com/suiro-go/suiro/internal/explore/mutants"
)

const waits = "TestExploreWhoWaitsForMemory"

var mistakes = map[string]mutants.Mutant{
	"one that is queued and does not check again": mutants.In("budget.go", waits,
		"if b.UnderPressure() {\n\t\treturn false\n\t}\n\tb.remove(&w.node)\n\treturn true", "return false"),
	"one that is queued and not counted": mutants.In("budget.go", waits,
		"b.queue.PushBack(&w.node)\n\t\tb.waiters.Store(int32(b.queue.Len()))", "b.queue.PushBack(&w.node)"),
	"one that checks before it is queued": mutants.In("budget.go", waits,
		"b.mu.Lock()\n\tdefer b.mu.Unlock()\n\tif !w.node.Listed() {", "tight := b.UnderPressure()\n\tb.mu.Lock()\n\tdefer b.mu.Unlock()\n\tif !w.node.Listed() {",
		"if b.UnderPressure() {\n\t\treturn false", "if tight {\n\t\treturn false"),
	"a wake-up that does not change the queue": mutants.In("budget.go", waits,
		"b.remove(next)", "_ = next"),
	"a reset while peers may take what is unsent": mutants.In("budget.go", waits,
		"return b.unsent.Load() == 0 && ", "return "),
	"a sum that is stored instead of added": mutants.In("usage.go", waits,
		"b.own.Add(own)", "b.own.Store(b.own.Load() + own)"),
	"bytes that are sent before they are free": mutants.In("usage.go", waits,
		"if more > 0 {", "if more != 0 {", "if more < 0 {", "if false {"),
	"bytes that are counted twice for a moment": mutants.In("usage.go", "TestExploreBytesThatAreAnswered",
		"if own != 0 {\n\t\tb.own.Add(own)", "if own != 0 || more != 0 {\n\t\tb.own.Add(more)\n\t\tb.own.Add(own - more)"),
	"a reset by what was so before": mutants.In("budget.go", waits,
		"b.unsent.Load() == 0 && b.Own() > int64(b.highWater())", "b.unsent.Load() == 0"),
	"nobody to go when nothing helps": mutants.In("budget.go", "TestExploreWaitingThatWouldNotHelp",
		"return b.unsent.Load() == 0 && ", "return b.unsent.Load() < 0 && "),
}

// The explorer must find each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) { mutants.MustAllBeCaught(t, mistakes) }
