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
	refused = "TestExploreARefusedOperation"
	shut    = "TestExploreAFINAgainstAShutEntrance"
	queues  = "TestExploreAGoroutineThatWaitsForTheQueue"
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
	"an operation of another task whose hold is lost": mutants.In("right.go", "TestExploreAFINAgainstOperations",
		"r.word.Add(uint64(to - Call))", "r.word.And(^uint64(holders))"),
	"an end that does not see the wait for room": mutants.In("task.go", "TestExploreAnEndAgainstAWaitForRoom",
		"return Holder(old & holders), old&closed == 0", "return Holder(old&holders) % Room, old&closed == 0"),
	"a FIN during a wait for room or an operation": mutants.In("task.go", "TestExploreAFINAgainstOperations",
		"mine = old&holders == 0\n\t\tnext := old | barred", "mine = old&holders != uint64(Call)\n\t\tnext := old | barred"),
	"a goroutine that waits with an empty queue and is forgotten": mutants.In("right.go", queues,
		"next := old | Queued | wait", "next := old | Queued"),
	"room that comes outside of the lock": mutants.In("model_explore_test.go", files,
		"m.roomIn = false\n\t\t\tm.right.RoomCame()\n",
		"m.roomIn = false\n\t\t\tm.mu.Unlock()\n\t\t\tm.right.RoomCame()\n\t\t\tm.mu.Lock()\n"),
	"an operation of another task that waits for room": mutants.In("model_explore_test.go", "TestExploreAnEndAgainstAnOperationOfAnotherTask",
		"m.submit(b, true)", "m.submit(b, false)"),
	"an operation that an end does not cancel": mutants.In("model_explore_test.go", "TestExploreAnEndAgainstAnOperationOfAnotherTask",
		"m.canceled = m.flight != \"\"", ""),
	"a wait for room that an end does not cancel": mutants.In("model_explore_test.go", "TestExploreAnEndAgainstAWaitForRoom",
		"m.canceled = m.armed", ""),
	"a rest of an operation whose hold goes on": mutants.In("model_explore_test.go", ends,
		"m.right.GiveUp(0, 0) // this task runs, and the end of the connection wakes all others\n", ""),
	"a refused operation whose hold goes on": mutants.In("model_explore_test.go", refused,
		"t := m.right.GiveUp(len(b), 0)", "t := Told{Task: true}"),
	"a refused wait for room whose hold goes on": mutants.In("model_explore_test.go", refused,
		"\tm.mu.Lock()\n\tm.right.RoomCame()\n\tm.mu.Unlock()\n", ""),
	"a FIN beside a call that leaves a rest": mutants.In("model_explore_test.go", shut,
		"over = m.mine+m.entrance == \"\" && !calls", "over = m.mine+m.entrance == \"\" && (calls || !calls)"),
	"a FIN while the entrance is open": mutants.In("model_explore_test.go", shut,
		"\t\tm.shut = true\n", ""),
	"a FIN that nobody makes the task send": mutants.In("model_explore_test.go", shut,
		"calls := m.right.Want()", "calls := m.right.Holder() != Nobody"),
	"a write that is accepted and queued under two locks": mutants.In("model_explore_test.go", shut,
		"locked := m.shuts && !held", "locked := false && !held", "if m.shuts && held {", "if m.shuts {"),
	"goroutines that write out of turn": mutants.In("right_explore_test.go", "TestExploreGoroutinesThatWriteInTurn",
		"m.turn.Lock()\n\t\t\tm.raw(\"c\")\n\t\t\tm.turn.Unlock()", "m.raw(\"c\")"),
	"a file whose rest is not queued": mutants.In("model_explore_test.go", files,
		"m.right.Queue(0)\n\tif !m.right.Take(Call, false) {", "if !m.right.Take(Call, false) {",
		"if m.mine+m.file+m.entrance == \"\" {", "if m.mine+m.entrance == \"\" {"),
	"a drained queue whose waiter is forgotten": mutants.In("task.go", waiters,
		"waiter = old&holders == 0 && old&Waits != 0", "waiter = false"),
}

// The explorer is worth what it finds: each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) { mutants.MustAllBeCaught(t, mistakes) }
