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
		m.x.Go("a", func() { m.put("a", 1, false) })
		m.x.Go("b", func() { m.put("b", 1, false) })
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
					m.put("ab", 1, false)
					m.put("c", 1, false)
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
				m.x.Go("goroutine", func() { m.put(first, 1, false) })
			})
		})
	}
	t.Run("twice", func(t *testing.T) {
		explored(t, all, func(m *model) {
			m.allSent(4)
			m.mine, m.woken = "x", true
			m.x.Go("task", func() { m.task(m.calls) })
			m.x.Go("goroutine", func() {
				m.put("ab", 1, false)
				m.put("c", 1, false)
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
		m.x.Go("goroutine", func() { m.put("a", 1, false) })
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
			m.x.Go("goroutine", func() { m.put("ab", 1, true) })
		})
	})
	t.Run("operations", func(t *testing.T) {
		explored(t, 3, func(m *model) {
			told(m)
			m.mine, m.woken = "x", true
			m.x.Go("task", func() { m.task(func() { m.submits(false) }) })
			m.x.Go("worker", func() { m.deliver(2) })
			m.x.Go("goroutine", func() { m.put("ab", 1, true) })
		})
	})
	t.Run("nothing is sent any more", func(t *testing.T) {
		explored(t, all, func(m *model) {
			told(m)
			m.x.Go("task", func() {
				m.task(func() { // it drops what came: the connection is mute
					m.mine = ""
					m.mu.Lock()
					m.settle()
				})
			})
			m.x.Go("goroutine", func() { m.put("ab", 1, true) })
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
		m.x.Go("goroutine", func() { m.put("a", 1, false) })
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
				if m.mute {
					m.shuts()
				}
			})
		})
		m.x.Go("goroutine", func() { m.put("a", 1, false); m.put("b", 1, false) })
		m.x.Go("closer", func() { m.asks(&m.mute) })
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
			m.x.Go("goroutine", func() { m.put("a", 1, false); m.put("b", 1, false) })
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

// A file leaves in one piece, though the task waits for room in its midst.
func TestExploreAFileInPieces(t *testing.T) {
	explored(t, 3, func(m *model) {
		m.allSent(3)
		m.file, m.woken = "fg", true
		m.right.Queue(0)
		m.x.Go("task", func() {
			m.task(func() {
				if m.file != "" && m.right.Take(Call, false) {
					m.call(m.file[:1])
					if m.file = m.file[1:]; m.file != "" {
						m.right.Took(1)
						m.right.Pass(Room)
						explorer.Step(m.x, "waits for room", &m.users, func() { m.armed = true })
					} else {
						t := m.right.GiveUp(1, 0)
						t.Task = false
						m.told(t)
					}
				}
				if m.file == "" {
					m.calls()
				}
			})
		})
		m.x.Go("worker", func() { m.deliver(1) })
		m.x.Go("goroutine", func() { m.put("a", 1, false) })
		m.x.Always(func() {
			m.x.Require(m.got != "fa" && m.got != "a", "in the midst of the file: %q", m.got)
			m.x.Require(!(m.armed && len(m.got) == 2), "the next piece did not wait for room")
		})
	})
}

// While the right is barred, as for a connection whose bytes are encrypted, no call takes it.
func TestExploreABarThatIsTakenAway(t *testing.T) {
	explored(t, all, func(m *model) {
		m.allSent(2)
		lent := true
		m.woken = true
		m.x.Go("task", func() {
			m.task(func() {
				if lent && m.right.Bar() {
					explorer.Step(m.x, "bars", &m.users, func() {
						m.x.Require(m.users == 0, "barred in a call")
						m.closed = true
					})
					explorer.Step(m.x, "unbars", &m.users, func() { m.closed, lent = false, false })
					m.right.Unbar()
				}
				m.calls()
			})
		})
		m.x.Go("goroutine", func() { m.put("a", 1, false); m.put("b", 1, false) })
	})
}
