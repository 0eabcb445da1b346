//go:build explore

package sched

import (
	"testing"

	"github.com/suiro-go/suiro/internal/explore/mutants"
)

// fullRings are tests in which a ring fills up, so that its owner reaches the slots that a thief
// reads.
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
	"an inspection that stores instead of comparing": mutants.In("state.go", "TestExploreAnInspection",
		"s.word.CompareAndSwap(old, old|stateRunning)", "s.word.Swap(old|stateRunning) == old"),
	"an inspection of a task that runs": mutants.In("state.go", "TestExploreAnInspection",
		"old&lifecycleMask == stateIdle && !dueToEnd(old)", "old&lifecycleMask != stateScheduled && !dueToEnd(old)"),
	"a reader of events that trusts the slot being written": mutants.In("eventring.go", "TestExploreAnEventRing",
		"n+size > now", "n+size >= now"),
	"a reader of events that does not look again": mutants.In("eventring.go", "TestExploreAnEventRing",
		"now := r.head.Load()", "now := head"),
	"an event that is announced before it is written": mutants.In("eventring.go", "TestExploreAnEventRing",
		"slot.when.Store(s)\n\tslot.what.Store(what)\n\tr.next++\n\tr.head.Store(r.next)", "r.next++\n\tr.head.Store(r.next)\n\tslot.when.Store(s)\n\tslot.what.Store(what)"),
	"a wake that looks at no generation": mutants.In("state.go", "TestExploreAStale",
		"if (old^generation)&generationMask != 0 {", "if false {"),
	"a detach that stores instead of comparing": mutants.In("state.go", "TestExploreDetach",
		"if old&lifecycleMask == stateComplete || s.word.CompareAndSwap(old, (old|detached)-oneRef) {",
		"if s.word.Store((old | detached) - oneRef); true {"),
	"an end that forgets wakers on their way": mutants.In("state.go", "TestExploreAWakerThatIsLate",
		"next += stray", "_ = stray"),
	"a context that does not look for an abort": mutants.In("state.go", "TestExploreAContext",
		"return dueToEnd(s.word.Or(contexted))", "s.word.Or(contexted)\n\treturn false"),
	"a context that looks for an abort first": mutants.In("state.go", "TestExploreAContext",
		"return dueToEnd(s.word.Or(contexted))", "due = dueToEnd(s.word.Load())\n\ts.word.Or(contexted)\n\treturn due"),
	"a shield that is lowered after an abort": mutants.In("state.go", "TestExploreAContext",
		"return word&contexted != 0 && dueToEnd(word)\n}\n\n// addContext", "_ = word\n\treturn false\n}\n\n// addContext"),
	"an abort that ends a context behind a shield": mutants.In("state.go", "TestExploreAContext",
		"generationMask == 0 && word&contexted != 0 && dueToEnd(word)", "generationMask == 0 && word&contexted != 0"),
	"a watch that rests without a second look": mutants.In("slow.go", "TestExploreAWatch",
		"return s.rt.allParked() || !s.resting.CompareAndSwap(1, 0)", "return true"),
	"a watch that looks before it rests": mutants.In("slow.go", "TestExploreAWatch",
		"s.resting.Store(1)\n", "parked := s.rt.allParked()\n\ts.resting.Store(1)\n",
		"return s.rt.allParked() ||", "return parked ||"),
	"a spare that looks first, and waits whatever it was told": mutants.In("spareworker.go", "TestExploreASpare",
		"	deployed := s.deployed.Load()\n", "",
		"if !w.parker.tryPark() {", "deployed := s.deployed.Load()\n	if !w.parker.tryPark() && false {"),
	"a deployment that wakes the spare first": mutants.In("spare.go", "TestExploreASpare",
		"	w.spare.deployed.Store(true)\n	w.unpark()", "	w.unpark()\n	w.spare.deployed.Store(true)"),
	"looks that rest beside a spare in service, which does not wake them": mutants.In("spareworker.go", "TestExploreASpare",
		"w.spare.deployed.Load() || !w.spare.resting.Load()", "!w.spare.resting.Load()",
		"	w.rt.slow.endRest()\n", ""),
	"a recall that is forgotten": mutants.In("spare.go", "TestExploreASpare",
		"w.spare.deployed.Store(false)\n", "_ = w\n"),
	"a stack given away that its worker has still to leave": mutants.In("stacks.go", "TestExploreTheSharedStacks",
		"	if own, _ := w.rt.bounds(); len(s.free) >= own {\n\t\ts.makeRoom(w.rt)\n\t}\n\ts.free = append(s.free, co)\n",
		"	s.free = append([]*coroutine{co}, s.free...)\n\tif own, _ := w.rt.bounds(); len(s.free) > own {\n\t\ts.makeRoom(w.rt)\n\t}\n"),
	"stacks that are given and kept": mutants.In("stacks.go", "TestExploreTheSharedStacks",
		"left := copy(s.free, s.free[n:])", "left := len(s.free)"),
	"stacks that are taken without the lock": mutants.In("stacks.go", "TestExploreTheSharedStacks",
		"	all.mu.Lock()\n\tdefer all.mu.Unlock()\n\trest := max(0, len(all.free)-(own+1)/2)\n",
		"	all.mu.Lock()\n\tlist := all.free\n\tall.mu.Unlock()\n\trest := max(0, len(list)-(own+1)/2)\n",
		"s.free = append(s.free, all.free[rest:]...)\n\tclear(all.free[rest:])\n\tall.free = all.free[:rest]",
		"s.free = append(s.free, list[rest:]...)\n\tall.free = list[:rest]"),
	"stacks that are given without the lock": mutants.In("stacks.go", "TestExploreTheSharedStacks",
		"	all.mu.Lock()\n\tdefer all.mu.Unlock()\n\tn := min((own+1)/2, shared-len(all.free))\n\tall.free = append(all.free, s.free[:n]...)",
		"	all.mu.Lock()\n\tlist := all.free\n\tall.mu.Unlock()\n\tn := min((own+1)/2, shared-len(list))\n\tall.free = append(list, s.free[:n]...)"),
	"a spare that enters a loop when all have left": mutants.In("stacks.go", "TestExploreTheLastLoop",
		"for n := in.Load(); n > 0; n = in.Load() {\n\t\tif in.CompareAndSwap(n, n+1) {", "for n := in.Load(); n >= 0; n = in.Load() {\n\t\tif in.CompareAndSwap(n, n+1) {"),
	"a spare that enters a loop without comparing": mutants.In("stacks.go", "TestExploreTheLastLoop",
		"if in.CompareAndSwap(n, n+1) {", "if in.Add(1) > 0 {"),
	"a worker that counts itself out and then looks": mutants.In("stacks.go", "TestExploreTheLastLoop",
		"last := w.inLoop && w.rt.inLoops.Add(-1) == 0", "w.rt.inLoops.Add(-1)\n\tlast := w.inLoop && w.rt.inLoops.Load() == 0"),
	"a spare that has not entered, and counts itself out": mutants.In("stacks.go", "TestExploreTheLastLoop",
		"last := w.inLoop && w.rt.inLoops.Add(-1) == 0", "last := w.rt.inLoops.Add(-1) == 0"),
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
	"a scope that closes without its lock": mutants.In("scope.go", "TestExploreAScope",
		"s.Drain()\n\ts.mu.Lock()\n\ts.closed = true\n", "s.Drain()\n\ts.mu.Lock()\n\tdefer func() { s.closed = true }()\n"),
	"a scope that refuses a task without a lock": mutants.In("scope.go", "TestExploreAScope",
		"if s.enter(t) {", "closed := s.closed\n\ts.mu.Lock()\n\ts.mu.Unlock()\n\tif !closed && (s.enter(t) || true) {"),
	"a scope that counts a task after it is in": mutants.In("scope.go", "TestExploreAScope",
		"t.scope, t.observer = s, t\n\ts.tracker.state.Add(oneTracked)", "t.scope, t.observer = s, t",
		"if s.enter(t) {", "entered := s.enter(t)\n\ts.tracker.state.Add(oneTracked)\n\tif entered {"),
	"a set in which a task is found before its handle": mutants.In("joinset.go", "TestExploreASpawnAgainst",
		"m.handle.cell = c\n\tif !s.enter(m) {", "if !s.enter(m) {",
		"c.launch(rt, w)\n\treturn", "m.handle.cell = c\n\tc.launch(rt, w)\n\treturn"),
	"a parker that forgets an unpark": mutants.In("parker.go", "TestExploreTheParker",
		"return p.state.CompareAndSwap(unparked, parked)", "p.state.Store(parked); return true"),
}

// The explorer must find each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package for each mutant")
	}
	for name, m := range mistakes {
		t.Run(name, func(t *testing.T) {
			if m.File() == "global.go" && !globalIsShimmed() {
				t.Skip("each call of the global queue is one step")
			}
			t.Parallel() // no mutant here uses a shim
			m.MustBeCaught(t)
		})
	}
}
