//go:build explore

package sending

import (
	"testing"

	explorer "github.com/suiro-go/suiro/internal/explore"
)

const all = explorer.Unbounded

// Goroutines send at the same time: one of them calls the kernel, the other queues.
func TestExploreTwoCallersSendOneAtATime(t *testing.T) {
	explored(t, 3, func(m *model) {
		m.allSent(2)
		m.x.Go("task", func() { m.task(m.calls) })
		m.x.Go("a", func() { m.write("a", 1, false) })
		m.x.Go("b", func() { m.write("b", 1, false) })
	})
}

// The rest of a write leaves before the next write of the same goroutine.
func TestExploreARestStaysInItsPlace(t *testing.T) {
	for name, run := range map[string]func(*model) func(){
		"calls":      func(m *model) func() { return m.calls },
		"operations": func(m *model) func() { return func() { m.submits(false) } },
	} {
		t.Run(name, func(t *testing.T) {
			explored(t, 3, func(m *model) {
				m.allSent(3)
				m.x.Go("task", func() { m.task(run(m)) })
				m.x.Go("goroutine", func() {
					m.write("ab", 1, false)
					m.write("c", 1, false)
				})
				m.x.Go("worker", func() { m.deliver(2) })
				m.x.Always(func() { m.ordered("a", "b"); m.ordered("b", "c") })
			})
		})
	}
}

// With two threads every order is visited.
func TestExploreACallAgainstTheTask(t *testing.T) {
	for name, first := range map[string]string{"whole": "a", "with a rest": "ab"} {
		t.Run(name, func(t *testing.T) {
			explored(t, all, func(m *model) {
				m.allSent(len(first) + 1)
				m.mine, m.woken = "x", true
				m.x.Go("task", func() { m.task(m.calls) })
				m.x.Go("goroutine", func() { m.write(first, 1, false) })
			})
		})
	}
	t.Run("twice", func(t *testing.T) {
		explored(t, all, func(m *model) {
			m.allSent(4)
			m.mine, m.woken = "x", true
			m.x.Go("task", func() { m.task(m.calls) })
			m.x.Go("goroutine", func() {
				m.write("ab", 1, false)
				m.write("c", 1, false)
			})
		})
	})
}

// Bytes queued behind an operation are sent after it, although nobody wakes the task for them.
func TestExploreAWriteBehindAnOperation(t *testing.T) {
	explored(t, 3, func(m *model) {
		m.allSent(3)
		m.mine, m.woken = "xy", true
		m.x.Go("task", func() { m.task(func() { m.submits(false) }) })
		m.x.Go("worker", func() { m.deliver(1) })
		m.x.Go("goroutine", func() { m.write("a", 1, false) })
		m.x.Always(func() { m.ordered("x", "y") })
	})
}

// A goroutine that waits for room is woken, whichever thread makes it.
func TestExploreAGoroutineThatWaitsForRoomIsTold(t *testing.T) {
	told := func(m *model) {
		m.x.Finally(func() {
			m.x.Require(m.room >= 1 && !m.waiter, "told %d times", m.room)
			m.x.Require(m.right.word.Load()&(holders|Queued|Waits) == 0, "left in state %#x", m.right.word.Load())
		})
	}
	t.Run("calls", func(t *testing.T) {
		explored(t, all, func(m *model) {
			told(m)
			m.mine, m.woken = "x", true
			m.x.Go("task", func() { m.task(m.calls) })
			m.x.Go("goroutine", func() { m.write("ab", 1, true) })
		})
	})
	t.Run("operations", func(t *testing.T) {
		explored(t, 3, func(m *model) {
			told(m)
			m.mine, m.woken = "x", true
			m.x.Go("task", func() { m.task(func() { m.submits(false) }) })
			m.x.Go("worker", func() { m.deliver(2) })
			m.x.Go("goroutine", func() { m.write("ab", 1, true) })
		})
	})
	t.Run("nothing is sent any more", func(t *testing.T) {
		explored(t, all, func(m *model) {
			told(m)
			m.x.Go("task", func() {
				m.task(func() { // it drops those bytes: the write side is closed
					m.mine = ""
					m.mu.Lock()
					m.settle()
				})
			})
			m.x.Go("goroutine", func() { m.write("ab", 1, true) })
		})
	})
}

// A task that wants to hear of the end of a hold hears of it, or learns that there is none.
func TestExploreATaskThatWantsToHearOfTheEnd(t *testing.T) {
	explored(t, all, func(m *model) {
		sent, heard := false, false
		m.woken = true
		m.x.Go("task", func() {
			m.task(func() {
				if !m.right.Want() {
					explorer.Step(m.x, "goes on", &sent, func() { heard = true })
				}
			})
		})
		m.x.Go("goroutine", func() { m.write("a", 1, false) })
		m.x.Finally(func() { m.x.Require(heard, "the task sleeps, nobody holds the right") })
	})
}

// The FIN leaves after the bytes of all calls, and no call follows it.
func TestExploreAFINAgainstACall(t *testing.T) {
	explored(t, all, func(m *model) {
		m.x.Go("task", func() {
			m.task(func() {
				m.dropped += m.mine
				m.mine = ""
				m.mu.Lock()
				m.settle()
				if m.finish {
					m.shutDown()
				}
			})
		})
		m.x.Go("goroutine", func() { m.write("a", 1, false); m.write("b", 1, false) })
		m.x.Go("closer", func() { m.asks(&m.finish) })
		m.x.Finally(func() {
			m.x.Require(m.fin, "no FIN was sent")
			m.x.Require(len(m.got+m.dropped) == 2, "sent %q, dropped %q", m.got, m.dropped)
		})
	})
}

// The descriptor is closed once, after the last call and the last operation.
func TestExploreAnEndAgainstCallsAndAnOperation(t *testing.T) {
	end := func(m *model, run func()) {
		m.x.Go("task", func() {
			m.task(func() {
				if m.abort {
					m.ends()
				} else {
					run()
				}
			})
		})
		m.x.Finally(func() { m.x.Require(m.closed, "the descriptor was never closed") })
	}
	t.Run("calls", func(t *testing.T) {
		explored(t, 4, func(m *model) {
			end(m, m.calls)
			m.x.Go("goroutine", func() { m.write("a", 1, false); m.write("b", 1, false) })
			m.x.Go("closer", func() { m.asks(&m.abort) })
		})
	})
	t.Run("an operation", func(t *testing.T) {
		explored(t, 3, func(m *model) {
			m.mine, m.woken = "x", true
			end(m, func() { m.submits(false) })
			m.x.Go("worker", func() { m.deliver(1) })
			m.x.Go("closer", func() { m.asks(&m.abort) })
		})
	})
}

// While the task waits for room, its descriptor stays open.
func TestExploreAnEndAgainstAWaitForRoom(t *testing.T) {
	for name, full := range map[string]bool{"room comes": false, "no room comes": true} {
		t.Run(name, func(t *testing.T) { endAgainstRoom(t, full) })
	}
}

func endAgainstRoom(t *testing.T, full bool) {
	explored(t, 3, func(m *model) {
		m.file, m.woken, m.full = "fg", true, full
		m.x.Go("task", func() {
			m.task(func() {
				if m.abort {
					m.ends()
				} else {
					m.pieces()
				}
			})
		})
		m.x.Go("worker", func() { m.deliver(1) })
		m.x.Go("closer", func() { m.asks(&m.abort) })
		m.x.Finally(func() { m.x.Require(m.closed, "the descriptor was never closed") })
	})
}

// A FIN follows the file, and an operation that another connection's task has begun.
func TestExploreAFINAgainstOperations(t *testing.T) {
	for name, file := range map[string]string{"a file": "fg", "no file": ""} {
		t.Run(name, func(t *testing.T) {
			explored(t, 3, func(m *model) {
				refused := 0
				m.file, m.woken = file, true
				m.x.Go("task", func() {
					m.task(func() {
						m.pieces()
						m.mu.Lock()
						m.settle()
						if m.finish && m.file == "" {
							m.shutDown()
						}
					})
				})
				m.x.Go("worker", func() { m.deliver(1) })
				m.x.Go("other task", func() {
					if !m.launches("a") {
						refused++
					}
				})
				m.x.Go("closer", func() { m.asks(&m.finish) })
				m.x.Finally(func() {
					m.x.Require(m.fin, "no FIN was sent")
					m.x.Require(len(m.got)+refused == len(file)+1, "sent %q", m.got)
				})
			})
		})
	}
}

// A goroutine that makes a call of its own once the queue is sent makes it in the end.
func TestExploreAGoroutineThatWaitsForTheQueue(t *testing.T) {
	waits := func(m *model, run func()) {
		m.allSent(2)
		m.mine, m.woken = "x", true
		m.x.Go("task", func() { m.task(run) })
		m.x.Go("goroutine", func() { m.raw("a") })
	}
	t.Run("calls", func(t *testing.T) {
		explored(t, all, func(m *model) { waits(m, m.calls) })
	})
	t.Run("operations", func(t *testing.T) {
		explored(t, 3, func(m *model) {
			waits(m, func() { m.submits(false) })
			m.x.Go("worker", func() { m.deliver(1) })
		})
	})
}

// Goroutines write in turn, so that no two wait for room, and none waits during a call of another.
func TestExploreGoroutinesThatWriteInTurn(t *testing.T) {
	explored(t, 3, func(m *model) {
		m.allSent(3)
		m.x.Go("task", func() { m.task(m.calls) })
		m.x.Go("goroutine", func() {
			m.turn.Lock()
			m.write("ab", 1, true)
			m.awaitRoom()
			m.turn.Unlock()
		})
		m.x.Go("other goroutine", func() {
			m.turn.Lock()
			m.raw("c")
			m.turn.Unlock()
		})
	})
}

// All that was accepted before the entrance was shut leaves before the FIN.
func TestExploreAFINAgainstAShutEntrance(t *testing.T) {
	explored(t, 4, func(m *model) {
		m.shuts = true
		m.x.Go("task", func() { m.task(m.sendsAll) })
		m.x.Go("goroutine", func() { m.write("ab", 1, false); m.write("c", 1, false) })
		m.x.Go("closer", func() { m.asks(&m.finish) })
		m.x.Finally(func() {
			m.x.Require(m.fin, "no FIN was sent")
			m.x.Require(m.got == m.accepted, "sent %q of %q", m.got, m.accepted)
		})
	})
}

// A reactor that is closed refuses operations. The hold ends nevertheless, and the connection does.
func TestExploreARefusedOperation(t *testing.T) {
	refused := func(m *model, run func()) {
		m.refuses = true
		m.x.Go("task", func() {
			m.task(func() {
				if m.abort {
					m.ends()
				} else {
					run()
				}
			})
		})
		m.x.Finally(func() { m.x.Require(m.closed, "the descriptor was never closed") })
	}
	t.Run("of the task", func(t *testing.T) {
		explored(t, all, func(m *model) {
			m.mine, m.woken = "x", true
			refused(m, func() { m.submits(false) })
			m.x.Go("goroutine", func() { m.write("a", 1, false) })
		})
	})
	t.Run("of another task", func(t *testing.T) {
		explored(t, 4, func(m *model) {
			refused(m, m.calls)
			m.x.Go("other task", func() {
				if !m.launches("a") {
					m.asks(&m.abort)
				}
			})
			m.x.Go("goroutine", func() { m.write("b", 1, false) })
		})
	})
	t.Run("a wait for room", func(t *testing.T) {
		explored(t, all, func(m *model) {
			m.file, m.woken = "fg", true
			refused(m, m.pieces)
			m.x.Go("goroutine", func() { m.write("a", 1, false) })
		})
	})
}

// An end comes before, during or after an operation of another connection's task, which may be
// submitted only after the end has canceled it.
func TestExploreAnEndAgainstAnOperationOfAnotherTask(t *testing.T) {
	explored(t, all, func(m *model) {
		m.full = true
		m.x.Go("task", func() {
			m.task(func() {
				if m.abort {
					m.ends()
				}
			})
		})
		m.x.Go("worker", func() { m.deliver(1) })
		m.x.Go("other task", func() { m.launches("a") })
		m.x.Go("closer", func() { m.asks(&m.abort) })
		m.x.Finally(func() { m.x.Require(m.closed, "the descriptor was never closed") })
	})
}

// A file leaves in one piece, though the task waits for room in its midst.
func TestExploreAFileInPieces(t *testing.T) {
	explored(t, 3, func(m *model) {
		m.allSent(3)
		m.file, m.woken = "fg", true
		m.x.Go("task", func() {
			m.task(func() {
				if m.pieces(); m.file == "" {
					m.calls()
					return
				}
				m.mu.Lock()
				m.settle()
			})
		})
		m.x.Go("worker", func() { m.deliver(1) })
		m.x.Go("goroutine", func() { m.write("a", 1, false) })
		m.x.Always(func() {
			m.x.Require(m.got != "fa", "in the midst of the file: %q", m.got)
			m.x.Require(!m.armed || m.right.Holder() == Room, "the next piece did not wait for room")
		})
	})
}
