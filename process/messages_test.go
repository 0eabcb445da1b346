package process_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

type numbered struct{ sender, n int }

// Senders are goroutines and processes, receivers are functions and state machines.
func TestMessagesOfEachSenderKeepTheirOrder(t *testing.T) {
	const senders = 6
	onEach(t, func(t *testing.T, s *process.System) {
		each := rounds(20000)
		for _, kind := range []string{"function", "machine"} {
			next := make([]int, senders)
			left := senders * each
			done := make(chan struct{})
			accept := func(m numbered) (over bool) {
				if m.n != next[m.sender] {
					t.Errorf("message %d of sender %d, not %d", m.n, m.sender, next[m.sender])
				}
				next[m.sender] = m.n + 1
				left--
				return left == 0
			}
			var to process.PID
			o := process.Options{Mailbox: 64, Overflow: process.OverflowWait}
			if kind == "machine" {
				to = startMachine(t, s, &machine{step: func(events []process.Event, out *process.StepOutput) error {
					out.Status = process.Idle
					for _, ev := range events {
						if accept(ev.Data.(numbered)) {
							close(done)
							out.Status = process.Complete
						}
					}
					return nil
				}}, o)
			} else {
				ref, err := process.Go(s, o, func(cx *sched.Context, self *process.Inbox[numbered]) error {
					defer close(done)
					for {
						m, err := self.Receive(cx)
						if err != nil || accept(m) {
							return err
						}
					}
				})
				require.NoError(t, err)
				to = ref.PID()
			}
			for i := range senders {
				if i%2 == 0 {
					go func() {
						for n := range each {
							if err := s.Send(context.Background(), to, numbered{i, n}); err != nil {
								t.Error(err)
								return
							}
						}
					}()
					continue
				}
				spawn(t, s, func(cx *sched.Context, _ *process.Inbox[any]) error {
					for n := range each {
						if err := s.Send(cx, to, numbered{i, n}); err != nil {
							t.Error(err)
							return err
						}
					}
					return nil
				})
			}
			receive(t, "all messages", done)
		}
	})
}

// However its slot is used again, a PID means its own process.
func TestAStalePIDReachesNoSuccessor(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		seen := map[process.PID]bool{}
		var old []process.PID
		for i := range rounds(2000) {
			pid := spawn(t, s, waits)
			require.False(t, seen[pid], "%v again", pid)
			seen[pid] = true
			for _, stale := range old[max(0, len(old)-20):] {
				require.Equal(t, process.ErrNoProcess, s.TrySend(stale, i))
				require.Equal(t, process.Complete, s.Status(stale))
			}
			require.NoError(t, s.Kill(pid))
			eventually(t, "it has ended", func() bool { return s.TrySend(pid, i) == process.ErrNoProcess })
			old = append(old, pid)
		}
		eventually(t, "none is counted", func() bool { return s.Len() == 0 })
		require.True(t, process.PID{}.IsZero())
		require.Equal(t, process.ErrNoProcess, s.TrySend(process.PID{}, 1))
		require.Equal(t, process.ErrNoProcess, process.Ref[int]{}.TrySend(1))
	})
}

// The process does not run while the messages are sent, then it receives what the policy has kept.
func TestWhatAFullMailboxDoes(t *testing.T) {
	for _, c := range []struct {
		overflow process.Overflow
		mailbox  int
		errs     int
		kept     []any
		dropped  []any
	}{
		{process.OverflowRefuse, 3, 2, []any{0, 1, 2}, nil},
		{process.OverflowWait, 3, 2, []any{0, 1, 2}, nil},
		{process.OverflowDropOldest, 3, 0, []any{2, 3, 4}, []any{0, 1}},
		{process.OverflowDropNewest, 3, 0, []any{0, 1, 2}, []any{3, 4}},
		{process.OverflowRefuse, -1, 0, []any{0, 1, 2, 3, 4}, nil}, // without a limit
	} {
		t.Run(fmt.Sprint(c.overflow, c.mailbox), func(t *testing.T) {
			var mu sync.Mutex
			var dropped []any
			s := newSystem(t, 1, process.Config{Dropped: func(_ process.PID, m any, why error) {
				mu.Lock()
				defer mu.Unlock()
				dropped = append(dropped, m)
				if why != process.ErrMailboxFull {
					t.Error(why)
				}
			}})
			running, goOn := make(chan struct{}), make(chan struct{})
			got := make(chan []any, 1)
			var all []any
			m := &machine{}
			m.step = func(events []process.Event, out *process.StepOutput) error {
				if running != nil {
					close(running)
					running = nil
					<-goOn
				}
				for _, ev := range events {
					all = append(all, ev.Data)
				}
				out.Status = process.Idle
				if len(all) == len(c.kept) {
					out.Status = process.Complete
					got <- all
				}
				return nil
			}
			began := running
			pid := startMachine(t, s, m, process.Options{Mailbox: c.mailbox, Overflow: c.overflow})
			receive(t, "the first step", began)
			errs := 0
			for i := range 5 {
				if err := s.TrySend(pid, i); err != nil {
					require.Equal(t, process.ErrMailboxFull, err)
					errs++
				}
			}
			close(goOn)
			require.Equal(t, c.errs, errs)
			require.Equal(t, c.kept, receive(t, "the messages", got))
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, c.dropped, dropped)
		})
	}
}

// Each message is received or reported as dropped, once, and the latest one is received.
func TestDropOldestLosesNothingSilently(t *testing.T) {
	const senders = 4
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			each := rounds(20000)
			dropped := make([]atomic.Int32, senders*each)
			s := newSystem(t, workers, process.Config{Dropped: func(_ process.PID, m any, _ error) {
				if m := m.(numbered); m.sender < senders {
					dropped[m.sender*each+m.n].Add(1)
				}
			}})
			got := make([]int32, senders*each)
			over := make(chan struct{})
			ref, err := process.Go(s, process.Options{Mailbox: 5, Overflow: process.OverflowDropOldest},
				func(cx *sched.Context, self *process.Inbox[numbered]) error {
					for {
						m, err := self.Receive(cx)
						if err != nil {
							return err
						}
						if m.sender == senders {
							close(over)
							return nil
						}
						got[m.sender*each+m.n]++
					}
				})
			require.NoError(t, err)
			var wg sync.WaitGroup
			for i := range senders {
				wg.Go(func() {
					for n := range each {
						if err := ref.TrySend(numbered{i, n}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			require.NoError(t, ref.TrySend(numbered{sender: senders}))
			receive(t, "the last message", over)
			for i := range got {
				require.EqualValues(t, 1, got[i]+dropped[i].Load(), "message %d", i)
			}
		})
	}
}

// Senders wait for room: tasks, goroutines, and those that give up.
func TestSendersWaitForRoom(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		running, gate, got := make(chan struct{}), make(chan struct{}), make(chan int, 100)
		slow := startMachine(t, s, &machine{step: func(events []process.Event, out *process.StepOutput) error {
			out.Status = process.Idle
			for _, ev := range events {
				if ev.Type == process.EventCancel {
					return process.ErrCanceled
				}
				got <- ev.Data.(int)
			}
			if len(events) == 0 {
				close(running)
				<-gate
			}
			return nil
		}}, process.Options{Mailbox: 1, Overflow: process.OverflowWait})
		receive(t, "its first step", running)
		require.NoError(t, s.TrySend(slow, 0))
		require.Equal(t, process.ErrMailboxFull, s.TrySend(slow, 1), "nobody can wait")
		ctx, cancel := context.WithCancel(context.Background())
		gaveUp := make(chan error, 1)
		go func() { gaveUp <- s.Send(ctx, slow, 100) }()
		var wg sync.WaitGroup
		for i := 1; i <= 10; i++ {
			wg.Go(func() {
				if err := s.Send(context.Background(), slow, i); err != nil {
					t.Error(err)
				}
			})
		}
		cancel()
		require.ErrorIs(t, receive(t, "the one that gives up", gaveUp), context.Canceled)
		close(gate)
		wg.Wait()
		sum := 0
		for range 11 {
			sum += receive(t, "a message", got)
		}
		require.Equal(t, 55, sum)
	})
}

// Room for one message wakes one sender, not all that wait.
func TestRoomForOneMessageWakesOneSender(t *testing.T) {
	const senders = 500
	s := newSystem(t, 1, process.Config{})
	done := make(chan struct{})
	ref, err := process.Go(s, process.Options{Mailbox: 1, Overflow: process.OverflowWait}, func(cx *sched.Context, self *process.Inbox[int]) error {
		defer close(done)
		for range senders {
			if _, err := self.Receive(cx); err != nil {
				return err
			}
			if _, err := sched.Await[struct{}](cx, sched.Yield()); err != nil { // the senders run
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	for i := range senders {
		_, err := process.Go(s, process.Options{}, func(cx *sched.Context, _ *process.Inbox[int]) error { return ref.Send(cx, i) })
		require.NoError(t, err)
	}
	receive(t, "all messages", done)
	require.Less(t, s.Runtime().Stats().Total.Polled, uint64(20*senders), "runs of all processes")
}

// A sender that waits for room learns of the process's end.
func TestASenderWaitsForAProcessThatEnds(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		ref, err := process.Go(s, process.Options{Mailbox: 1, Overflow: process.OverflowWait},
			func(cx *sched.Context, self *process.Inbox[any]) error {
				_, err := self.ReceiveMatch(cx, func(ev *process.Event) bool { return ev.Type == process.EventCancel })
				return err
			})
		require.NoError(t, err)
		require.NoError(t, ref.TrySend(1))
		refused := make(chan error, 2)
		go func() { refused <- ref.Send(context.Background(), 2) }()
		spawn(t, s, func(cx *sched.Context, _ *process.Inbox[any]) error {
			err := ref.Send(cx, 3)
			refused <- err
			return err
		})
		runtime.Gosched()
		require.NoError(t, s.Cancel(ref.PID()))
		require.Equal(t, process.ErrNoProcess, receive(t, "a sender", refused))
		require.Equal(t, process.ErrNoProcess, receive(t, "a sender", refused))
	})
}

func TestASelectiveReceiveKeepsTheOthersInOrder(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		got := make(chan []int, 1)
		pid := spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
			var all []int
			for i := 4; i >= 3; i-- {
				ev, err := self.ReceiveMatch(cx, func(ev *process.Event) bool { return ev.Data == i })
				if err != nil {
					return err
				}
				all = append(all, ev.Data.(int))
			}
			for range 3 {
				m, err := self.Receive(cx)
				if err != nil {
					return err
				}
				all = append(all, m.(int))
			}
			got <- all
			return nil
		})
		for i := range 5 {
			require.NoError(t, s.TrySend(pid, i))
		}
		require.Equal(t, []int{4, 3, 0, 1, 2}, receive(t, "the messages", got))
	})
}

func TestATypedInboxDropsOtherTypes(t *testing.T) {
	dropped := make(chan any, 1)
	s := newSystem(t, 2, process.Config{Dropped: func(_ process.PID, m any, why error) {
		if why == process.ErrWrongType {
			dropped <- m
		}
	}})
	got := make(chan int, 1)
	ref, err := process.Go(s, process.Options{}, func(cx *sched.Context, self *process.Inbox[int]) error {
		m, err := self.Receive(cx)
		got <- m
		return err
	})
	require.NoError(t, err)
	require.NoError(t, s.TrySend(ref.PID(), "text"))
	require.NoError(t, process.RefOf[int](s, ref.PID()).TrySend(5))
	require.Equal(t, 5, receive(t, "the number", got))
	require.Equal(t, "text", receive(t, "the text", dropped))
}

func TestDroppedMayPanic(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	for text, fail := range map[string]func(){
		"of the test":     func() { panic("of the test") },
		"called with nil": func() { panic(nil) },
	} {
		t.Run(text, func(t *testing.T) {
			log := &conntest.Log{}
			s := newSystem(t, 1, process.Config{Logger: log.Logger(), Dropped: func(process.PID, any, error) { fail() }})
			got := make(chan int, 1)
			ref, err := process.Go(s, process.Options{}, func(cx *sched.Context, self *process.Inbox[int]) error {
				m, err := self.Receive(cx)
				got <- m
				return err
			})
			require.NoError(t, err)
			require.NoError(t, s.Send(t.Context(), ref.PID(), "not an int"))
			require.NoError(t, ref.Send(t.Context(), 5))
			require.Equal(t, 5, receive(t, "the number", got))
			require.Equal(t, 1, log.Count("Dropped panicked"))
			require.Equal(t, 1, log.Count(text))
		})
	}
}

type question = *process.Request[string, int]

func TestCalls(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		server, err := process.Go(s, process.Options{}, func(cx *sched.Context, self *process.Inbox[question]) error {
			for {
				q, err := self.Receive(cx)
				switch {
				case err != nil:
					return err
				case q.Body == "end":
					return nil
				case q.Body == "fail":
					q.Fail(context.DeadlineExceeded)
				case q.Body != "ignore":
					q.Reply(len(q.Body))
					q.Reply(-1) // has no effect
				}
			}
		})
		require.NoError(t, err)
		ctx := context.Background()
		n, err := process.Call[string, int](ctx, s, server.PID(), "four")
		require.NoError(t, err)
		require.Equal(t, 4, n)
		_, err = process.Call[string, int](ctx, s, server.PID(), "fail")
		require.Equal(t, context.DeadlineExceeded, err)
		result := make(chan error, 3)
		spawn(t, s, func(cx *sched.Context, _ *process.Inbox[any]) error {
			_, err := sched.Await[int](cx, sched.Timeout(time.Millisecond, process.CallFuture[string, int](s, server.PID(), "ignore")))
			result <- err
			n, err := process.Call[string, int](cx, s, server.PID(), "three")
			if n != 5 {
				t.Error(n, err)
			}
			_, err = process.Call[string, int](cx, s, server.PID(), "end")
			result <- err
			_, err = process.Call[string, int](cx, s, server.PID(), "late")
			result <- err
			return err
		})
		require.Equal(t, sched.ErrTimeout, receive(t, "a time-out", result))
		require.Equal(t, process.ErrNoProcess, receive(t, "a call of a process that ends", result))
		require.Equal(t, process.ErrNoProcess, receive(t, "a call of a process that has ended", result))
	})
}

// Somebody who calls learns that the request was dropped.
func TestCallsWhoseRequestsAreDropped(t *testing.T) {
	s := newSystem(t, 2, process.Config{})
	for _, c := range []struct {
		overflow process.Overflow
		want     error
	}{{process.OverflowDropNewest, process.ErrMailboxFull}, {process.OverflowDropOldest, process.ErrMailboxFull}, {process.OverflowRefuse, process.ErrMailboxFull}} {
		ref, err := process.Go(s, process.Options{Mailbox: 1, Overflow: c.overflow}, func(cx *sched.Context, self *process.Inbox[any]) error {
			_, err := self.ReceiveMatch(cx, func(ev *process.Event) bool { return ev.Type == process.EventCancel })
			return err
		})
		require.NoError(t, err)
		results := make(chan error, 2)
		for range 2 { // one of the two has no place
			go func() {
				_, err := process.Call[string, int](t.Context(), s, ref.PID(), "dropped")
				results <- err
			}()
		}
		require.Equal(t, c.want, receive(t, "a call", results), "%v", c.overflow)
		require.NoError(t, s.Cancel(ref.PID()))
		require.Equal(t, process.ErrNoProcess, receive(t, "the other call", results), "it was in the mailbox at the end")
	}
	ref, err := process.Go(s, process.Options{}, func(cx *sched.Context, self *process.Inbox[int]) error {
		_, err := self.Receive(cx)
		return err
	})
	require.NoError(t, err)
	_, err = process.Call[string, int](t.Context(), s, ref.PID(), "of another type")
	require.Equal(t, process.ErrWrongType, err)
}

// A delayed message that finds no process or no room is dropped, as others are.
func TestDelayedMessagesThatAreDropped(t *testing.T) {
	dropped := make(chan error, 1)
	s := newSystem(t, 1, process.Config{Dropped: func(_ process.PID, m any, why error) {
		if m == "late" {
			dropped <- why
		}
	}})
	to := stubborn(t, s)
	s.SendAfter(time.Millisecond, to.PID(), "late")
	require.Equal(t, process.ErrMailboxFull, receive(t, "a message", dropped))
	require.NoError(t, s.Kill(to.PID()))
	eventually(t, "it has ended", func() bool { return s.Len() == 0 })
	s.SendAfter(time.Millisecond, to.PID(), "late")
	require.Equal(t, process.ErrNoProcess, receive(t, "a message", dropped))
}

func TestDelayedMessages(t *testing.T) {
	s := paused(t)
	type arrival struct {
		m  any
		at time.Duration
	}
	got := make(chan arrival, 3)
	pid := spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
		for range 2 {
			m, err := self.Receive(cx)
			if err != nil {
				return err
			}
			got <- arrival{m, cx.Runtime().Now()}
		}
		return nil
	})
	s.Runtime().HoldClock()
	s.SendAfter(2*time.Hour, pid, "second")
	s.SendAfter(time.Hour, pid, "first")
	stopped := s.SendAfter(time.Minute, pid, "never")
	require.True(t, stopped.Stop())
	s.Runtime().ReleaseClock()
	require.Equal(t, arrival{"first", time.Hour}, receive(t, "a message", got))
	require.Equal(t, arrival{"second", 2 * time.Hour}, receive(t, "a message", got))
	require.False(t, stopped.Stop())
}

// Messages of a pooled type cost no allocation.
func TestAMessageAllocatesNothing(t *testing.T) {
	if slow {
		t.Skip("sync.Pool drops items under the race detector")
	}
	s := newSystem(t, 1, process.Config{})
	type message struct{ _ int }
	var pool sync.Pool
	got := make(chan struct{})
	pid := startMachine(t, s, &machine{step: func(events []process.Event, out *process.StepOutput) error {
		out.Status = process.Idle
		for _, ev := range events {
			if ev.Type == process.EventCancel {
				return process.ErrCanceled
			}
			pool.Put(ev.Data)
			got <- struct{}{}
		}
		return nil
	}}, process.Options{})
	exchange := func() {
		m, _ := pool.Get().(*message)
		if m == nil {
			m = new(message)
		}
		if err := s.TrySend(pid, m); err != nil {
			t.Error(err)
		}
		<-got
	}
	exchange()
	require.Less(t, testing.AllocsPerRun(1000, exchange), 0.1)
}
