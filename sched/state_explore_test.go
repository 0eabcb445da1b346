//go:build explore

package sched

import (
	"fmt"
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

// A taskTest has a task, the queue of one worker, and the events of wakers.
type taskTest struct {
	x         *explorer.Execution
	state     state
	queued    int // entries of the task
	published int // events that wakers have published
	told      int // events that a run has seen
	runs      int
	ended     bool
}

var allOrders = explorer.Options{Preemptions: explorer.Unbounded}

// queue puts the task in the worker's queue.
func (m *taskTest) queue() {
	explorer.Step(m.x, "queues", &m.queued, func() {
		m.queued++
		m.x.Require(m.queued == 1 && !m.ended, "queued %d times, ended: %v", m.queued, m.ended)
	})
}

func (m *taskTest) wakes() {
	explorer.Step(m.x, "publishes", &m.published, func() { m.published++ })
	if m.state.wake(0) {
		m.queue()
	}
}

func (m *taskTest) cancels() {
	if m.state.cancel(0) {
		m.queue()
	}
}

// worker runs the task whenever it is queued. run leaves the state running, and reports whether
// the task must be queued again.
func (m *taskTest) worker(run func(word uint64) (again bool)) {
	for !m.ended {
		explorer.Rest(m.x, "dequeues", &m.queued, func() bool { return m.queued > 0 }, func() { m.queued-- })
		word := m.state.start()
		m.runs++
		m.x.Require(word&lifecycleMask == stateRunning, "run in state %#x", word)
		explorer.Step(m.x, "looks", &m.published, func() { m.told = m.published })
		if run(word) {
			m.queue()
		}
	}
}

func (m *taskTest) complete() {
	m.ended = true
	m.state.complete()
}

// No wake-up is lost, none queues the task twice, and a complete task is not queued.
func TestExploreWakersAgainstRunSuspendAndComplete(t *testing.T) {
	for _, doneAfter := range []int{0, 1, 2} { // 0: it is never done
		t.Run(fmt.Sprintf("done after %d runs", doneAfter), func(t *testing.T) {
			explorer.Explore(t, allOrders, func(x *explorer.Execution) {
				m := &taskTest{x: x}
				x.Go("worker", func() {
					m.worker(func(uint64) bool {
						if m.runs == doneAfter {
							m.complete()
							return false
						}
						return m.state.suspend()
					})
				})
				x.Go("waker", m.wakes)
				x.Go("other", m.wakes)
				x.Finally(func() {
					x.Require(m.ended || m.told == 2, "%d of 2 wakes were seen", m.told)
					x.Require(m.ended || m.state.word.Load() == stateIdle, "left in state %#x", m.state.word.Load())
					x.Require(0 < m.runs && m.runs <= 2, "%d runs", m.runs)
				})
			})
		})
	}
}

// When a task is ended at the runtime's end, its memory must not be used again while a waker that
// must queue it has not done so.
func TestExploreAWakerThatIsLateAtTheEndFindsItsTask(t *testing.T) {
	explorer.Explore(t, allOrders, func(x *explorer.Execution) {
		var s state
		s.word.Store(2*oneRef | stateIdle)
		recycled, late, over := 0, 0, false
		unref := func() {
			if s.unref() {
				explorer.Step(x, "recycles", &recycled, func() { recycled++ })
			}
		}
		x.Go("waker", func() {
			if s.wake(0) {
				explorer.Step(x, "looks where to queue", &recycled, func() {
					late++
					x.Require(recycled == 0, "it is another task by now")
				})
			}
		})
		x.Go("end", func() {
			if s.seize() {
				s.complete()
				explorer.Step(x, "tells", &over, func() { over = true })
				unref()
			}
		})
		x.Go("handle", func() {
			explorer.Wait(x, "waits for the end", &over, func() bool { return over }, func() {})
			unref()
		})
		x.Finally(func() {
			x.Require(recycled+late == 1, "recycled %d times, with %d late wakers", recycled, late)
		})
	})
}

// The goroutine that enters a task runs it alone, and a run after it sees wake-ups that arrive
// meanwhile.
func TestExploreAnEntryAgainstWakersAndRuns(t *testing.T) {
	explorer.Explore(t, allOrders, func(x *explorer.Execution) {
		m := &taskTest{x: x}
		m.state.word.Store(stateIdle | enterable)
		inside := 0
		run := func() (again bool) {
			explorer.Step(x, "runs", &m.published, func() {
				inside++
				x.Require(inside == 1, "%d run it at once", inside)
			})
			explorer.Step(x, "looks", &m.published, func() { m.told = m.published })
			inside--
			return m.state.suspend()
		}
		x.Go("worker", func() { m.worker(func(uint64) bool { return run() }) })
		x.Go("driver", func() {
			if m.state.enter() && run() {
				m.queue()
			}
		})
		x.Go("waker", m.wakes)
		x.Go("other", m.wakes)
		x.Finally(func() {
			x.Require(m.told == 2, "%d of 2 wakes were seen", m.told)
			x.Require(m.state.word.Load() == stateIdle|enterable, "left in state %#x", m.state.word.Load())
		})
	})
}

// A report inspects the task beside wake-ups and runs: nobody else has the task meanwhile, and no
// wake-up is lost.
func TestExploreAnInspectionAgainstWakersAndRuns(t *testing.T) {
	explorer.Explore(t, allOrders, func(x *explorer.Execution) {
		m := &taskTest{x: x}
		inside := 0
		alone := func() {
			explorer.Step(x, "has it", &m.published, func() {
				inside++
				x.Require(inside == 1, "%d have it at once", inside)
			})
			explorer.Step(x, "leaves it", &m.published, func() { inside-- })
		}
		x.Go("worker", func() {
			m.worker(func(uint64) bool {
				alone()
				return m.state.suspend()
			})
		})
		x.Go("report", func() {
			if m.state.inspect() {
				alone()
				if m.state.suspend() {
					m.queue()
				}
			}
		})
		x.Go("waker", m.wakes)
		x.Go("other", m.wakes)
		x.Finally(func() {
			x.Require(m.told == 2, "%d of 2 wakes were seen", m.told)
			x.Require(m.state.word.Load() == stateIdle, "left in state %#x", m.state.word.Load())
		})
	})
}

func TestExploreAWakeOfATaskThatYields(t *testing.T) {
	explorer.Explore(t, allOrders, func(x *explorer.Execution) {
		m := &taskTest{x: x}
		x.Go("worker", func() {
			m.worker(func(uint64) bool {
				if m.runs == 1 {
					m.state.reschedule()
					return true
				}
				return m.state.suspend()
			})
		})
		x.Go("waker", m.wakes)
		x.Go("other", m.wakes)
		x.Finally(func() {
			x.Require(m.told == 2, "%d of 2 wakes were seen", m.told)
			x.Require(m.state.word.Load() == stateIdle, "left in state %#x", m.state.word.Load())
		})
	})
}

// A task that raises a shield waits behind it until it is woken. It then ends the shield and waits
// without end. It is canceled at some time, and must notice.
func TestExploreCancelAgainstSuspendWithAShield(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 4}, func(x *explorer.Execution) {
		m := &taskTest{x: x}
		m.state.word.Store(stateScheduled)
		m.queued = 1
		shielded := false
		x.Go("worker", func() {
			m.worker(func(word uint64) bool {
				x.Require(!dueToEnd(word) || !shielded, "to end behind a shield")
				switch {
				case dueToEnd(word):
					m.complete()
					return false
				case m.runs == 1:
					m.state.shield()
					shielded = true
				case shielded && m.told > 0:
					m.state.unshield()
					shielded = false
				}
				return m.state.suspend()
			})
		})
		x.Go("waker", m.wakes)
		x.Go("canceler", m.cancels)
		x.Finally(func() { x.Require(m.ended, "the cancellation went unnoticed, state %#x", m.state.word.Load()) })
	})
}

// A task makes a context while it is aborted, with a shield or without. The later of the two ends
// the context once the task is due to end, and neither ends it earlier.
func TestExploreAContextAgainstAnAbort(t *testing.T) {
	for _, shields := range []bool{false, true} {
		t.Run(fmt.Sprintf("shield %v", shields), func(t *testing.T) {
			explorer.Explore(t, allOrders, func(x *explorer.Execution) {
				var s state
				s.word.Store(stateRunning)
				ended, up := false, shields
				ends := func() {
					explorer.Step(x, "ends the context", &ended, func() {
						x.Require(!up, "it ends behind a shield")
						ended = true
					})
				}
				if shields {
					s.shield()
				}
				x.Go("task", func() {
					if s.addContext(0) {
						ends()
					}
					if shields {
						explorer.Step(x, "is to lower its shield", &up, func() { up = false })
						if s.unshield() {
							ends()
						}
					}
				})
				x.Go("aborter", func() {
					s.cancel(0)
					if s.endsContext(0) {
						ends()
					}
				})
				x.Finally(func() { x.Require(ended, "the context has not ended, state %#x", s.word.Load()) })
			})
		})
	}
}

// The envelope of a complete task becomes that of another task while a waker of the first one is
// active. That waker must not affect the second task; a waker of the second task must work. The
// era is not a shim. So the test uses Plain, and a bound that is higher than these few steps need.
func TestExploreAStaleWakerAgainstARecycledEnvelope(t *testing.T) {
	explorer.Explore(t, explorer.Options{Preemptions: 6, Plain: true}, func(x *explorer.Execution) {
		task := new(Task)
		task.state.word.Store(oneRef | stateRunning)
		stale := task.Waker()
		var fresh Waker
		x.Go("worker", func() {
			task.state.complete()
			x.Require(task.state.unref(), "not the last reference")
			task.renew(2*oneRef | stateIdle)
			fresh = task.Waker()
		})
		x.Go("stale waker", func() { x.Require(!stale.mustQueue(), "a stale waker queues a task") })
		queued := false
		x.Go("fresh waker", func() {
			explorer.Wait(x, "the second task", &fresh, func() bool { return fresh != Waker{} }, nil)
			queued = fresh.mustQueue()
		})
		x.Finally(func() {
			x.Require(queued, "a wake was lost")
			x.Require(task.state.word.Load() == 2*oneRef|stateScheduled|1, "state %#x", task.state.word.Load())
		})
	})
}

// Both sides do the same as JoinHandle.Detach and cell.completed.
func TestExploreDetachAgainstComplete(t *testing.T) {
	explorer.Explore(t, allOrders, func(x *explorer.Execution) {
		var s state
		s.word.Store(2*oneRef | stateRunning)
		releases, recycled := 0, 0
		release := func() { explorer.Step(x, "releases", &releases, func() { releases++ }) }
		recycle := func() {
			explorer.Step(x, "recycles", &recycled, func() {
				recycled++
				x.Require(releases == 1, "recycled before the result was released")
			})
		}
		x.Go("worker", func() {
			word := s.complete()
			if word&detached != 0 {
				release()
			}
			if word>>40 == 1 || s.unref() {
				recycle()
			}
		})
		x.Go("holder", func() {
			if s.detach()&lifecycleMask == stateComplete {
				release()
				if s.unref() {
					recycle()
				}
			}
		})
		x.Go("waker", func() { s.wake(0) })
		x.Finally(func() {
			x.Require(releases == 1, "released %d times", releases)
			x.Require(recycled == 1, "recycled %d times", recycled)
		})
	})
}

func TestExploreTheLastReferenceIsGivenUpOnce(t *testing.T) {
	explorer.Explore(t, allOrders, func(x *explorer.Execution) {
		var s state
		s.word.Store(3*oneRef | stateComplete)
		last := 0
		unref := func() {
			if s.unref() {
				explorer.Step(x, "is the last", &last, func() { last++ })
			}
		}
		x.Go("one", unref)
		x.Go("two", unref)
		x.Go("three", unref)
		x.Finally(func() { x.Require(last == 1, "%d were the last", last) })
	})
}

// A joiner is woken when the task completes, or learns that it is complete.
func TestExploreWantJoinAgainstComplete(t *testing.T) {
	explorer.Explore(t, allOrders, func(x *explorer.Execution) {
		var s state
		s.word.Store(2*oneRef | stateRunning)
		var waits, woken bool
		x.Go("worker", func() {
			woken = s.complete()&joinInterest != 0
		})
		x.Go("joiner", func() { waits = s.wantJoin() })
		x.Go("waker", func() { s.wake(0) })
		x.Finally(func() { x.Require(waits == woken, "waits: %v, woken: %v", waits, woken) })
	})
}
