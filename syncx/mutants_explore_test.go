//go:build explore

package syncx

import (
	"testing"

	"github.com/suiro-go/suiro/internal/explore/mutants"
)

// abandons is the test of futures that are given up. The kind of thing follows.
const abandons = "TestExploreAnAbandonedFuture/"

var mistakes = map[string]mutants.Mutant{
	"a mutex that is handed over and forgets those behind": mutants.In("mutex_queue.go", "TestExploreAMutex/overtaken=0",
		"if m.queue.list.Len() > 1 {\n\t\t\tnext |= mutexWaited\n\t\t}\n\t\tm.word.Store(next)", "m.word.Store(next)"),
	"one who comes to wait for a mutex that has become free": mutants.In("mutex_queue.go", "TestExploreAMutex",
		"} else if m.word.CompareAndSwap(old, old|mutexWaited) {", "} else if m.word.Or(mutexWaited); true {"),
	"an unlock that trusts a summons which was answered": mutants.In("mutex_queue.go", "TestExploreAMutex/overtaken=2",
		"if m.word.CompareAndSwap(old, old&^mutexLocked) {", "if m.word.Store(old &^ mutexLocked); true {"),
	"one who was summoned in vain and does not say so": mutants.In("mutex_queue.go", "TestExploreAMutex/overtaken=2",
		"if passes(old) < mutexPasses {\n\t\t\tnext", "if false {\n\t\t\tnext"),
	"one who was summoned and gives up without a word": mutants.In("mutex_queue.go", "TestExploreAMutex/overtaken=2",
		"if next&mutexSummoned != 0 {", "if false {"),
	"one who was given a mutex and gives up": mutants.In("mutex_queue.go", "TestExploreAMutex/overtaken=0",
		"if state == granted {", "if false {"),
	"an acquisition that overwrites a release": mutants.In("semaphore_queue.go", "TestExploreASemaphore",
		"case s.word.CompareAndSwap(old, semWaited):", "case s.word.Swap(semWaited) != 1<<63:"),
	"a release that overwrites an acquisition": mutants.In("semaphore_queue.go", "TestExploreASemaphore",
		"if s.word.CompareAndSwap(old, old+n*semPermit) {", "if s.word.Store(old + n*semPermit); true {"),
	"one who gives up with permits": mutants.In("semaphore_queue.go", "TestExploreASemaphore",
		"s.give(got)", "s.give(min(got, 0))"),
	"a close that forgets who comes at that moment": mutants.In("semaphore_queue.go", "TestExploreClosing",
		"case old&semClosed != 0:\n\t\t\treturn false, ErrClosed\n\t\tcase free", "case free"),
	"a wait that overwrites a notification": mutants.In("notify_queue.go", "TestExploreANotification",
		"case n.word.CompareAndSwap(old, old&^notifyState|notifyWaited):", "case n.word.Swap(old&^notifyState|notifyWaited) != 1<<63:"),
	"one who was notified and gives up": mutants.In("notify_queue.go", "TestExploreANotification",
		"\tcase granted:\n\t\tw = n.pass()\n", ""),
	"a wait that does not count": mutants.In("notify_queue.go", "TestExploreNotifyWaiters",
		"case old/notifyCall != since:", "case false:"),
	"a notification for one whom NotifyWaiters was to tell": mutants.In("notify_queue.go", "TestExploreNotifyOneAmong|TestExploreANotificationGivenUpAmong",
		"n.word.Store(n.word.Load()&^notifyState + notifyCall)", "n.word.Store(n.word.Load() + notifyCall)",
		"n.due.PushBackList(&n.queue.list)\n", "",
		"n.due.Len() > 0 && n.due.Front().Value.need < now {",
		"!n.queue.empty() && n.queue.list.Front().Value.need < now {\n\t\t\tif n.queue.list.Len() == 1 {\n\t\t\t\tn.word.Store(n.word.Load() &^ notifyState)\n\t\t\t}",
		"pop(&n.due, noticed)", "n.queue.pop(noticed)"),
	"one who was told and leaves the wrong list": mutants.In("notify_queue.go", "TestExploreNotifyWaitersToOneWhoLeaves",
		"if p.Value.need != n.calls() {\n\t\tn.due.Remove(p)\n\t\treturn\n\t}\n", ""),
	"a reader behind a writer who has given up": mutants.In("rwmutex_queue.go", "TestExploreAReader",
		"\t}\n\trw.give()\n", "\t}\n\trw.queue.mu.Unlock()\n"),
	"a downgrade that stores instead of comparing": mutants.In("rwmutex_queue.go", "TestExploreADowngrade",
		"if rw.word.CompareAndSwap(old, old-rwWriter+rwReader) {", "if rw.word.Store(old - rwWriter + rwReader); true {"),
	"a downgrade that tells no reader": mutants.In("rwmutex_queue.go", "TestExploreADowngradeLetsReaders",
		"if old&rwWaited != 0 {\n\t\t\t\trw.handOver()\n\t\t\t}\n\t\t\treturn\n\t\t}\n\t}\n}\n\nfunc (rw *RWMutex) runlock", "return\n\t\t}\n\t}\n}\n\nfunc (rw *RWMutex) runlock"),
	"one who comes to wait for an RWMutex that has become free": mutants.In("rwmutex_queue.go", "TestExploreAnRWMutex",
		"} else if rw.word.CompareAndSwap(old, old|rwWaited) {", "} else if rw.word.Or(rwWaited); true {"),
	"a Mutex that a finished branch keeps": mutants.In("mutex_future.go", abandons+"Mutex",
		"func (f *lockFuture) Undo() { f.m.Unlock() }", "func (f *lockFuture) Undo() {}"),
	"an RWMutex that a finished branch keeps": mutants.In("rwmutex.go", abandons+"RWMutex",
		"func (f *rwLockFuture) Undo() {\n", "func (f *rwLockFuture) Undo() {\n\treturn\n"),
	"permits that a finished branch keeps": mutants.In("semaphore_future.go", abandons+"Semaphore",
		"func (f *acquireFuture) Undo() { f.s.release(f.n) }", "func (f *acquireFuture) Undo() {}"),
	"a notification that a finished branch keeps": mutants.In("notify.go", abandons+"Notify",
		"func (f *notifyFuture) Undo() {\n", "func (f *notifyFuture) Undo() {\n\treturn\n"),
	"a Mutex that is handed over to an abandoned branch": mutants.In("mutex_queue.go", abandons+"Mutex",
		"m.queue.mu.Lock()\n\tstate := p.Value.state.Load()\n\tm.queue.list.Remove(p)",
		"state := p.Value.state.Load()\n\tm.queue.mu.Lock()\n\tm.queue.list.Remove(p)"),
	"a pending branch that a Join forgets": mutants.In("../sched/joinall.go", abandons,
		"\tif !p.ended {\n\t\tp.ended = true\n\t\tp.cancel()\n\t\treturn\n\t}\n\tp.Undo()",
		"\tif !p.ended {\n\t\tp.ended = true\n\t\treturn\n\t}\n\tp.Undo()"),
	"a finished branch that a Join forgets": mutants.In("../sched/joinall.go", abandons,
		"\t\treturn\n\t}\n\tp.Undo()", "\t\treturn\n\t}"),
	"a Join that fails and abandons nothing": mutants.In("../sched/joinall.go", abandons,
		"\t\t\tgiveUp(j.parts, part.fail)\n", ""),
	"a Timeout that abandons nothing": mutants.In("../sched/timeout.go", abandons,
		"t.Cancel()\n\treturn *new(T), ErrTimeout", "t.sleep.Cancel()\n\treturn *new(T), ErrTimeout"),
	"a Select that abandons no loser": mutants.In("../sched/select.go", abandons,
		"s.Cancel()\n\tabandoned = true", "abandoned = true"),
}

// The explorer must find each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) { mutants.MustAllBeCaught(t, mistakes) }
