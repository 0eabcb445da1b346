//go:build explore

package sending

import (
	"testing"

	"github.com/suiro-go/suiro/internal/explore/mutants"
)

const (
	rests   = "TestExploreARestStays"
	files   = "TestExploreAFileInPieces"
	ends    = "TestExploreAnEnd"
	waiters = "TestExploreAGoroutineThatWaits"
	callers = "TestExploreTwoCallers"
	fin     = "TestExploreAFIN"
)

var mistakes = map[string]mutants.Mutant{
	"a call that overtakes the queue": mutants.In("right.go", rests,
		"taken = holders | Queued | barred | closed", "taken = holders | barred | closed"),
	"a call that stores instead of comparing": mutants.In("right.go", callers,
		"if r.word.CompareAndSwap(old, old|uint64(Call)) {", "if r.word.Store(old | uint64(Call)); true {"),
	"a call after the end": mutants.In("right.go", ends,
		"taken = holders | Queued | barred | closed", "taken = holders | Queued | barred"),
	"a call that is barred": mutants.In("right.go", fin,
		"taken = holders | Queued | barred | closed", "taken = holders | Queued | closed"),
	"an end of a hold that is not told": mutants.In("right.go", ends,
		"Task: old&tell != 0", "Task: false"),
	"an end of a hold that looks too early": mutants.In("right.go", ends,
		"next := old&^(holders|tell|Waits) | leave", "was := old\n\t\told = r.word.Load()\n\t\tnext := old&^(holders|tell|Waits) | leave",
		"Task: old&tell != 0", "Task: was&tell != 0"),
	"an end of a hold that stores instead of comparing": mutants.In("right.go", ends,
		"if r.word.CompareAndSwap(old, next+uint64(n)*oneByte) {", "if r.word.Store(next + uint64(n)*oneByte); true {"),
	"an end of a hold that forgets what it leaves": mutants.In("right.go", rests,
		"old&^(holders|tell|Waits) | leave", "old&^(holders|tell|Waits)"),
	"an end of a hold that forgets who waits": mutants.In("right.go", waiters,
		"Waiter: old&Waits != 0", "Waiter: false"),
	"a wish to hear of nobody's end": mutants.In("task.go", "TestExploreATaskThatWants",
		"if old&holders == 0 {\n\t\t\treturn false", "if old&holders == 0 {\n\t\t\treturn true"),
	"a wish that stores instead of comparing": mutants.In("task.go", "TestExploreATaskThatWants",
		"r.word.CompareAndSwap(old, old|tell) {", "r.word.Swap(old|tell) != 0 {"),
	"a task that finds the right held and asks for nothing": mutants.In("task.go", "TestExploreACallAgainstTheTask",
		"next = old | Queued | tell", "next = old | Queued"),
	"a task that sends while it waits for room": mutants.In("task.go", files,
		"held := old&holders != 0", "held := old&holders != 0 && old&holders != uint64(Room)"),
	"room that lets others in": mutants.In("task.go", files,
		"r.word.And(^uint64(holders | tell))", "r.word.And(^uint64(holders | tell | Queued))"),
	"an end that asks for nothing": mutants.In("task.go", ends,
		"r.word.Or(closed | tell)", "r.word.Or(closed)"),
	"a bar that asks for nothing": mutants.In("task.go", fin,
		"next |= tell\n\t\t}\n\t\tif next == old || r.word.CompareAndSwap(old, next) {\n\t\t\treturn mine",
		"}\n\t\tif next == old || r.word.CompareAndSwap(old, next) {\n\t\t\treturn mine"),
	"a queue that relies on a call of the task's own": mutants.In("right.go", "TestExplore(ACall|ARest)",
		"Holder(old&holders) < Operation", "Holder(old&holders) < Call"),
	"a queue behind an operation that asks for nothing": mutants.In("right.go", "TestExploreAWriteBehind",
		"if !wake {\n\t\t\tnext |= tell\n\t\t}\n", ""),
	"a drained queue whose waiter is forgotten": mutants.In("task.go", waiters,
		"waiter = old&holders == 0 && old&Waits != 0", "waiter = false"),
}

// The explorer is worth what it finds: each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) { mutants.MustAllBeCaught(t, mistakes) }
