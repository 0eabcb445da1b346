//go:build explore

package sched

import (
	"testing"

	"github.com/suiro-go/suiro/internal/explore/mutants"
)

// fullRings are tests in which a ring fills up, so that its owner comes around to
// where a thief reads.
const fullRings = "TestExplore(Push|ABatch|TwoThieves|Overflow)"

var mistakes = map[string]mutants.Mutant{
	"a release that stores instead of comparing": mutants.In("ring.go", "TestExploreOwner",
		"if r.head.CompareAndSwap(head, packHeads(real, real)) {\n\t\t\treturn\n\t\t}",
		"r.head.Store(packHeads(real, real))\n\t\treturn"),
	"a release before the tasks are copied": mutants.In("ring.go", fullRings,
		"t := r.slots[last&r.mask]\n\tr.slots[last&r.mask] = nil\n\tr.release()",
		"r.release()\n\tt := r.slots[last&r.mask]\n\tr.slots[last&r.mask] = nil"),
	"a push where a thief reads": mutants.In("ring.go", "TestExplorePush",
		"if int(tail-steal) < len(r.slots) {", "if int(tail-real) < len(r.slots) {"),
	"a pop that stores instead of comparing": mutants.In("ring.go", fullRings,
		"if r.head.CompareAndSwap(head, next) {", "if r.head.Store(next); true {"),
	"a pop that forgets the thief": mutants.In("ring.go", fullRings,
		"next := packHeads(steal, real+1)\n\t\tif steal == real {",
		"next := packHeads(steal, real+1)\n\t\tif true {"),
	"a second thief at work": mutants.In("ring.go", fullRings,
		"if steal != real {\n\t\t\treturn 0, 0", "if false {\n\t\t\treturn 0, 0"),
	"an overflow that claims nothing": mutants.In("ring.go", "TestExploreOverflowWhileA",
		"if !r.head.CompareAndSwap(head, packHeads(real, tail)) {\n\t\treturn false\n\t}", "_ = real",
		"r.head.Store(head) // nobody", "// nobody"),
	"a batch pushed where a thief reads": mutants.In("ring.go", "TestExploreABatch",
		"steal, _ := heads(r.head.Load())\n\treturn len(r.slots)", "_, steal := heads(r.head.Load())\n\treturn len(r.slots)"),
	"a suspend that stores instead of comparing": mutants.In("state.go", "TestExploreWakers",
		"if s.word.CompareAndSwap(old, next) {\n\t\t\treturn again", "if s.word.Store(next); true {\n\t\t\treturn again"),
	"a suspend that forgets a cancellation": mutants.In("state.go", "TestExploreCancel",
		"old&notified != 0 || dueToEnd(old)", "old&notified != 0"),
	"an entry that stores instead of comparing": mutants.In("state.go", "TestExploreAnEntry",
		"s.word.CompareAndSwap(old, old&^lifecycleMask|stateRunning)", "s.word.Swap(old&^lifecycleMask|stateRunning) == old"),
	"an entry into a task that runs": mutants.In("state.go", "TestExploreAnEntry",
		"old&(lifecycleMask|enterable) == stateIdle|enterable", "old&enterable != 0 && old&lifecycleMask != stateScheduled"),
	"a wake that looks at no generation": mutants.In("state.go", "TestExploreAStale",
		"if (old^generation)&generationMask != 0 {", "if false {"),
	"a detach that stores instead of comparing": mutants.In("state.go", "TestExploreDetach",
		"if old&lifecycleMask == stateComplete || s.word.CompareAndSwap(old, (old|detached)-oneRef) {",
		"if s.word.Store((old | detached) - oneRef); true {"),
	"an end that forgets wakers on their way": mutants.In("state.go", "TestExploreAWakerThatIsLate",
		"next += stray", "_ = stray"),
	"a claim that does not look again": mutants.In("idle.go", "TestExploreParking/two_pushes",
		"\t\ts.searching.Add(-1)\n\t}\n\treturn -1", "\t\ts.searching.Add(-1)\n\t\tbreak\n\t}\n\treturn -1"),
	"a claim whoever searches": mutants.In("idle.go", "TestExploreParking/a_burst_onto_two",
		"if !s.searching.CompareAndSwap(0, 1) {", "if s.searching.Add(1) < 0 {"),
	"a worker that takes itself off the parked with a store": mutants.In("idle.go", "TestExploreParking",
		"return s.words[worker/64].bits.And(^bit)&bit == 0",
		"w := &s.words[worker/64].bits\n\tset := w.Load()\n\tw.Store(set &^ bit)\n\treturn set&bit == 0"),
	"a batch that for a moment is to be seen nowhere": mutants.In("global.go", "TestExploreParking/tasks_behind",
		"to.pushAll(&l)\n\tq.len.Add(int64(-moved))", "q.len.Add(int64(-moved))\n\tto.pushAll(&l)"),
	"a clock that looks at the workers once": mutants.In("clock.go", "TestExploreRest",
		"rt.clock.holds.Load() == 0 && rt.allStill() && rt.clock", "rt.clock.holds.Load() == 0 && rt.clock"),
	"a clock that does not ask who has left his park": mutants.In("clock.go", "TestExploreRestIsNotSeenByAnOnlooker",
		"rt.allStill() && rt.clock.left.Load() == left", "rt.allStill() && left == left"),
	"a clock that nobody can hold": mutants.In("clock.go", "TestExploreRest",
		"rt.clock.holds.Load() == 0 && ", ""),
	"a blocker that is another's before its wait was abandoned": mutants.In("block.go", "TestExploreShields",
		"defer b.put()", "",
		"if !polled {\n\t\t\tabandon(f)\n\t\t}\n", "b.put()\n\t\tif !polled {\n\t\t\tabandon(f)\n\t\t}\n"),
	"a tracker's end that does not count itself": mutants.In("tracker.go", "TestExploreATracker",
		"next += oneEmptied", "_ = oneEmptied"),
	"a wait that takes an earlier end of a tracker for its own": mutants.In("tracker.go", "TestExploreATracker",
		"w.entered, w.since = true, word", "w.entered, w.since = true, 0"),
	"wake-ups that stop after a batch": mutants.In("waitlist.go", "TestExploreATracker",
		"if n < len(batch) {\n\t\t\treturn", "if n <= len(batch) {\n\t\t\treturn"),
	"a set that forgets who has ended before he entered": mutants.In("joinset.go", "TestExploreASetAgainst",
		"if m.over {", "if false {"),
	"a set in which a task is found before its handle": mutants.In("joinset.go", "TestExploreASpawnAgainst",
		"m.handle.cell = c\n\tif !s.enter(m) {", "if !s.enter(m) {",
		"c.launch(rt, w)\n\treturn", "m.handle.cell = c\n\tc.launch(rt, w)\n\treturn"),
	"a parker that forgets an unpark": mutants.In("parker.go", "TestExploreTheParker",
		"return p.state.CompareAndSwap(unparked, parked)", "p.state.Store(parked); return true"),
}

// The explorer is worth what it finds: each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package for each mutant")
	}
	for name, m := range mistakes {
		t.Run(name, func(t *testing.T) {
			if m.File() == "global.go" && !globalIsShimmed() {
				t.Skip("each call of the global queue is one step")
			}
			t.Parallel() // nothing here uses a shim
			m.MustBeCaught(t)
		})
	}
}
