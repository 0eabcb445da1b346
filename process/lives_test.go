package process_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

var errTest = errors.New("test")

// Whichever of the processes in a circle fails, all end, with the first one's reason.
func TestLinksInACircle(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		for failing := range 4 {
			var pids [4]process.PID
			linked := make(chan struct{}, 4)
			for i := range pids {
				pids[i] = spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
					for {
						m, err := self.Receive(cx)
						if err != nil {
							return err
						}
						switch m := m.(type) {
						case process.PID:
							self.Link(m)
							self.Link(m)
							linked <- struct{}{}
						case error:
							return m
						}
					}
				})
			}
			for i, pid := range pids {
				require.NoError(t, s.TrySend(pid, pids[(i+1)%4]))
			}
			for range pids {
				receive(t, "a link", linked)
			}
			last := s.Done(pids[(failing+2)%4])
			reason := make(chan error, 1)
			spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
				self.Monitor(pids[(failing+2)%4])
				linked <- struct{}{}
				ev, err := self.ReceiveEvent(cx)
				reason <- ev.Error
				return err
			})
			receive(t, "a monitor", linked)
			require.NoError(t, s.TrySend(pids[failing], errTest))
			require.ErrorIs(t, receive(t, "the end of the farthest", reason), errTest)
			for _, pid := range pids {
				eventually(t, "all have ended", func() bool { return s.Status(pid) == process.Complete })
			}
			_, err := sched.Await(context.Background(), last)
			require.Equal(t, process.ErrNoProcess, err, "it had ended before")
		}
	})
}

func TestLinksOfProcessesThatTrapExits(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		events := make(chan process.Event, 8)
		pid := spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
			self.TrapExits(true)
			for _, fn := range []func(*sched.Context, *process.Inbox[any]) error{
				func(*sched.Context, *process.Inbox[any]) error { return nil },
				func(*sched.Context, *process.Inbox[any]) error { return errTest },
			} {
				child, err := process.Go(&self.Self, process.Options{Link: true}, fn)
				if err != nil {
					return err
				}
				ev, err := self.ReceiveEvent(cx)
				if err != nil || ev.Data != child.PID() {
					t.Error(ev, err)
				}
				events <- ev
				self.Link(child.PID()) // it has ended
				ev, _ = self.ReceiveEvent(cx)
				events <- ev
			}
			unlinked, err := process.Go(&self.Self, process.Options{Link: true}, ends)
			if err != nil {
				return err
			}
			self.Unlink(unlinked.PID())
			tag := self.Monitor(unlinked.PID())
			_ = self.TrySend(unlinked.PID(), errTest)
			ev, _ := self.ReceiveEvent(cx)
			if ev.Tag != tag {
				t.Error("an event of another monitor")
			}
			events <- ev
			return nil
		})
		for _, want := range []process.Event{
			{Type: process.EventExit}, {Type: process.EventExit, Error: process.ErrNoProcess},
			{Type: process.EventExit, Error: errTest}, {Type: process.EventExit, Error: process.ErrNoProcess},
			{Type: process.EventDown, Error: errTest},
		} {
			ev := receive(t, "an event", events)
			require.Equal(t, want.Type, ev.Type)
			require.Equal(t, want.Error, ev.Error)
		}
		eventually(t, "it has ended", func() bool { return s.Status(pid) == process.Complete })
	})
}

func TestANormalEndDoesNotEndLinkedProcesses(t *testing.T) {
	s := newSystem(t, 2, process.Config{})
	survived := make(chan error, 1)
	spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
		child, err := process.Go(&self.Self, process.Options{Link: true}, ends)
		if err != nil {
			return err
		}
		tag := self.Monitor(child.PID())
		_ = self.TrySend(child.PID(), nil)
		ev, err := self.ReceiveEvent(cx)
		if ev.Tag != tag || ev.Error != nil {
			t.Error(ev)
		}
		survived <- err
		return nil
	})
	require.NoError(t, receive(t, "the parent's report", survived))
}

// An Unlink counts in both directions.
func TestAnUnlinkedProcessSurvives(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		unlinked := make(chan process.PID, 1)
		pid := spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
			other, err := process.Go(self, process.Options{Link: true}, ends)
			if err != nil {
				return err
			}
			self.Unlink(other.PID())
			unlinked <- other.PID()
			return errTest
		})
		other := receive(t, "a process that is no longer linked", unlinked)
		eventually(t, "the first one has ended", func() bool { return s.Status(pid) == process.Complete && s.Len() == 1 })
		reason := reasonOf(t, s, other)
		require.NoError(t, s.Send(t.Context(), other, nil))
		require.NoError(t, receive(t, "the end of the other one", reason))
	})
}

// Processes monitor each other in a circle; each end is told once. A monitor that was removed is
// never told, also if the end races with that.
func TestMonitors(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		for range rounds(200) {
			target := spawn(t, s, ends)
			result := make(chan error, 1)
			spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
				kept, removed := self.Monitor(target), self.Monitor(target)
				_ = s.TrySend(target, errTest)
				self.Demonitor(removed)
				self.Demonitor(removed)
				_ = self.TrySend(self.PID(), "last")
				var err error
				for want := 2; want > 0; want-- {
					ev, e := self.ReceiveEvent(cx)
					switch {
					case e != nil:
						err = e
					case ev.Type == process.EventDown && (ev.Tag != kept || ev.Data != target || ev.Error != errTest):
						err = fmt.Errorf("%+v", ev)
					}
				}
				again := self.Monitor(target)
				if ev, _ := self.ReceiveEvent(cx); ev.Tag != again || ev.Error != process.ErrNoProcess {
					err = fmt.Errorf("%+v", ev)
				}
				result <- err
				return nil
			})
			require.NoError(t, receive(t, "the watcher", result))
		}
	})
}

func TestMonitorsInACircle(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		const n = 5
		var pids [n]process.PID
		var downs atomic.Int32
		ready := make(chan struct{}, n)
		for i := range pids {
			pids[i] = spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
				next, err := self.Receive(cx)
				if err != nil {
					return err
				}
				self.Monitor(next.(process.PID))
				ready <- struct{}{}
				ev, err := self.ReceiveEvent(cx)
				if err == nil && ev.Type == process.EventDown {
					downs.Add(1)
				}
				return err
			})
		}
		for i, pid := range pids {
			require.NoError(t, s.TrySend(pid, pids[(i+1)%n]))
		}
		for range pids {
			receive(t, "a monitor", ready)
		}
		require.NoError(t, s.Kill(pids[0]))
		eventually(t, "all have ended", func() bool { return s.Len() == 0 })
		require.EqualValues(t, n-1, downs.Load(), "each but the killed one was told")
	})
}

func TestNamesAndGroups(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		ref, err := process.Go(s, process.Options{Name: "a"}, waits)
		require.NoError(t, err)
		a := ref.PID()
		b := spawn(t, s, waits)
		_, err = process.Go(s, process.Options{Name: "a"}, waits)
		require.Equal(t, process.ErrNameTaken, err)
		require.Equal(t, 2, s.Len())
		require.NoError(t, s.Register("a", a))
		require.Equal(t, process.ErrNameTaken, s.Register("a", b))
		require.NoError(t, s.Register("b", b))
		pid, ok := s.Whereis("a")
		require.True(t, ok && pid == a)
		require.True(t, s.Unregister("a"))
		require.False(t, s.Unregister("a"))
		require.NoError(t, s.Register("a", b))

		for range 2 {
			require.NoError(t, s.JoinGroup("g", a))
			require.NoError(t, s.JoinGroup("g", b))
		}
		require.ElementsMatch(t, []process.PID{a, b}, s.Members("g"))
		require.Equal(t, 2, s.Publish(t.Context(), "g", "hello"))
		require.True(t, s.LeaveGroup("g", a))
		require.False(t, s.LeaveGroup("g", a))
		require.Equal(t, 1, s.Publish(t.Context(), "g", "hello"))

		done := s.Done(b)
		end := make(chan struct{})
		go func() {
			defer close(end)
			_, _ = sched.Await(context.Background(), done)
			if _, ok := s.Whereis("a"); ok {
				t.Error("the name was not free at the end")
			}
			if n := s.Publish(t.Context(), "g", "hello"); n != 0 {
				t.Error("the group has a member", n)
			}
		}()
		require.NoError(t, s.Kill(b))
		receive(t, "the end", end)
		require.Equal(t, process.ErrNoProcess, s.Register("b", b))
		require.Equal(t, process.ErrNoProcess, s.JoinGroup("g", b))
		require.Empty(t, s.Members("g"))
	})
}

func TestAKilledFunctionIsUnwound(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		began, unwound := make(chan struct{}), make(chan error, 1)
		pid := spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
			close(began)
			_, err := sched.Await[struct{}](cx, sched.Sleep(time.Hour))
			unwound <- err
			_, err = self.Receive(cx)
			return err
		})
		receive(t, "its begin", began)
		done := make(chan error, 1)
		spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
			self.Monitor(pid)
			if err := s.Kill(pid); err != nil {
				t.Error(err)
			}
			ev, err := self.ReceiveEvent(cx)
			done <- ev.Error
			return err
		})
		require.Equal(t, sched.ErrCanceled, receive(t, "its end", unwound))
		require.Equal(t, process.ErrKilled, receive(t, "the reason", done))
	})
}

// After a kill a function receives nothing more, although it has mail and still runs.
func TestAKilledFunctionReceivesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		errs := make(chan error, 2)
		pid := spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
			for i := range 3 {
				_ = self.TrySend(self.PID(), i)
			}
			if _, err := self.Receive(cx); err != nil { // the other messages are at hand now
				return err
			}
			_ = s.Kill(self.PID())
			_, err := self.Receive(cx)
			errs <- err
			_, err = self.ReceiveEvent(cx)
			errs <- err
			return nil
		})
		require.Equal(t, process.ErrKilled, receive(t, "a receive", errs))
		require.Equal(t, process.ErrKilled, receive(t, "a receive", errs))
		eventually(t, "it has ended", func() bool { return s.Status(pid) == process.Complete })
	})
}

// Shutdown first cancels Draining: a function sees it without a receive.
func TestShutdownCancelsDraining(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 2})
	s := process.New(process.Config{Runtime: rt, Grace: time.Hour})
	began, drained := make(chan struct{}), make(chan error, 1)
	_ = spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
		close(began)
		_, err := sched.Await(cx, cx.Draining().Canceled())
		drained <- err
		return nil
	})
	receive(t, "a process", began)
	require.NoError(t, s.Shutdown(t.Context()))
	require.NoError(t, receive(t, "the drain", drained))
	require.NoError(t, rt.Close())
}

// A function that always has mail still sees that it was killed.
func TestAFloodedFunctionCanBeKilled(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		pid := spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
			_ = self.TrySend(self.PID(), 1)
			for {
				if _, err := self.Receive(cx); err != nil {
					return err
				}
				_ = self.TrySend(self.PID(), 1)
			}
		})
		require.NoError(t, s.Kill(pid))
		eventually(t, "it has ended", func() bool { return s.Status(pid) == process.Complete })
	})
}

// A context ends with a cancel, a kill or the end of its process, whichever is first.
func TestTheContextsOfProcesses(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		contexts := make(chan context.Context, 1)
		start := func(step func(ctx context.Context, events []process.Event, out *process.StepOutput)) (process.PID, context.Context) {
			var own context.Context
			m := &machine{
				init: func(ctx context.Context, _ string, _ any) error { own = ctx; contexts <- ctx; return nil },
				step: func(events []process.Event, out *process.StepOutput) error { step(own, events, out); return nil },
			}
			pid := startMachine(t, s, m, process.Options{})
			return pid, receive(t, "a context", contexts)
		}
		pid, ctx := start(func(_ context.Context, _ []process.Event, out *process.StepOutput) { out.Status = process.Idle })
		require.NoError(t, ctx.Err())
		require.NoError(t, s.Cancel(pid))
		receive(t, "its end after a cancel event that the process ignores", ctx.Done())
		require.Equal(t, context.Canceled, ctx.Err())
		require.NotEqual(t, process.Complete, s.Status(pid))
		require.NoError(t, s.Kill(pid))

		running := make(chan struct{})
		pid, _ = start(func(ctx context.Context, _ []process.Event, out *process.StepOutput) {
			close(running)
			<-ctx.Done()
			out.Status = process.Idle
		})
		receive(t, "a step", running)
		require.NoError(t, s.Kill(pid))
		eventually(t, "the kill has ended the step", func() bool { return s.Status(pid) == process.Complete })

		goOn := make(chan struct{})
		_, ctx = start(func(_ context.Context, _ []process.Event, out *process.StepOutput) {
			<-goOn
			out.Status = process.Complete
		})
		require.NoError(t, ctx.Err())
		close(goOn)
		receive(t, "its end with the process", ctx.Done())

		ended := make(chan error, 1)
		pid = spawn(t, s, func(cx *sched.Context, _ *process.Inbox[any]) error {
			contexts <- cx
			_, err := sched.Await(cx, sched.Done(sched.WithoutTask(cx)))
			ended <- err
			return nil
		})
		receive(t, "a context", contexts)
		require.NoError(t, s.Cancel(pid))
		receive(t, "the end of the function's context", ended)
	})
}

// Very many processes live at once. Some end at the cancel event, some ignore it and are killed.
func TestShutdownOfManyProcesses(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			n := rounds(100000)
			rt := sched.New(sched.Config{Workers: workers, Paused: true})
			s := process.New(process.Config{Runtime: rt, Grace: time.Hour})
			var ready, canceled, closed atomic.Int32
			for i := range n {
				ignores := i%100 == 0
				if i%1000 == 1 {
					_ = spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
						defer closed.Add(1)
						ready.Add(1)
						err := waits(cx, self)
						canceled.Add(1)
						return err
					})
					continue
				}
				first := true
				startMachine(t, s, &machine{
					step: func(events []process.Event, out *process.StepOutput) error {
						if first {
							first = false
							ready.Add(1)
						}
						out.Status = process.Idle
						for _, ev := range events {
							if ev.Type == process.EventCancel && !ignores {
								out.Status = process.Complete
								canceled.Add(1)
							}
						}
						return nil
					},
					close: func() { closed.Add(1) },
				}, process.Options{})
			}
			eventually(t, "all have run", func() bool { return int(ready.Load()) == n })
			require.Equal(t, n, s.Len())
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					if err := s.Shutdown(context.Background()); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			require.Zero(t, s.Len())
			require.EqualValues(t, n, closed.Load())
			require.EqualValues(t, n-n/100, canceled.Load())
			_, err := process.Start(s, &machine{}, process.Options{})
			require.Equal(t, process.ErrShutdown, err)
			require.NoError(t, rt.Close())
		})
	}
}

// A process that neither returns nor waits is reported, and the others end.
func TestShutdownReportsAStuckProcess(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 2})
	s := process.New(process.Config{Runtime: rt, Grace: -1})
	stuck, leave := make(chan struct{}), make(chan struct{})
	_, err := process.Start(s, &machine{step: func([]process.Event, *process.StepOutput) error {
		close(stuck)
		<-leave
		return errTest
	}}, process.Options{})
	require.NoError(t, err)
	receive(t, "a step that does not return", stuck)
	_ = spawn(t, s, waits)
	eventually(t, "a report of the one", func() bool { // a busy machine may end the other one late
		err := s.Shutdown(context.Background())
		return err != nil && strings.Contains(err.Error(), "1 processes have not ended")
	})
	close(leave)
	eventually(t, "it has ended", func() bool { return s.Len() == 0 })
	require.NoError(t, rt.Close())
}

// Shutdown waits for as long as the processes that it has killed end one after the other.
func TestShutdownWaitsWhileProcessesEnd(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1, Paused: true})
	s := process.New(process.Config{Runtime: rt, Grace: -1})
	var ready, closed atomic.Int32
	n := rounds(1000)
	for range n {
		startMachine(t, s, &machine{
			step: func(_ []process.Event, out *process.StepOutput) error {
				ready.Add(1)
				out.Status = process.Idle
				return nil
			},
			close: func() {
				closed.Add(1)
				rt.Advance(600 * time.Millisecond)
				runtime.Gosched()
			},
		}, process.Options{})
	}
	eventually(t, "all have run", func() bool { return int(ready.Load()) == n })
	require.NoError(t, s.Shutdown(context.Background()))
	require.EqualValues(t, n, closed.Load())
	require.NoError(t, rt.Close())
}

// A million processes are spawned, each gets a message and ends.
func TestAMillionLives(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			n := rounds(1000000)
			s := newSystem(t, workers, process.Config{})
			var received, closed atomic.Int64
			for first := 0; first < n; first += 1000 { // a thousand live at once, at most
				for range min(1000, n-first) {
					m := &machine{
						step: func(events []process.Event, out *process.StepOutput) error {
							out.Status = process.Idle
							for _, ev := range events {
								received.Add(int64(ev.Data.(int)))
								out.Status = process.Complete
							}
							return nil
						},
						close: func() { closed.Add(1) },
					}
					pid := startMachine(t, s, m, process.Options{})
					require.NoError(t, s.TrySend(pid, 1))
				}
				if first%10000 == 0 {
					eventually(t, "they have ended", func() bool { return s.Len() == 0 })
				}
			}
			eventually(t, "all have ended", func() bool { return s.Len() == 0 })
			require.EqualValues(t, n, received.Load())
			require.EqualValues(t, n, closed.Load())
		})
	}
}

// Functions of the user's that the end of a process calls are over when Shutdown returns.
func TestShutdownWaitsForWhatTheEndOfAProcessCalls(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	var over atomic.Bool
	s := newSystem(t, 1, process.Config{Dropped: func(process.PID, any, error) {
		close(entered)
		<-release
		over.Store(true)
	}})
	begun, end := make(chan struct{}), make(chan struct{})
	p, err := process.Go(s, process.Options{}, func(*sched.Context, *process.Inbox[int]) error {
		close(begun)
		<-end
		return nil
	})
	require.NoError(t, err)
	receive(t, "the process", begun)
	require.NoError(t, p.TrySend(1))
	close(end)
	receive(t, "the message that nobody receives", entered)
	require.Equal(t, 1, s.Len(), "Shutdown waits for as many")
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(context.Background()) }()
	eventually(t, "shutdown", func() bool {
		_, err := process.Go(s, process.Options{}, func(*sched.Context, *process.Inbox[int]) error { return nil })
		return errors.Is(err, process.ErrShutdown)
	})
	letGo()
	require.NoError(t, receive(t, "the end of Shutdown", done))
	require.True(t, over.Load())
}

// Once its PID finds nothing, the name of a process is free, and the process is in no group. The
// rest of the end may take longer.
func TestTheNameOfAProcessThatEnds(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	s := newSystem(t, 2, process.Config{Dropped: func(process.PID, any, error) {
		close(entered)
		<-release
	}})
	begun, end := make(chan struct{}), make(chan struct{})
	p, err := process.Go(s, process.Options{Name: "a"}, func(*sched.Context, *process.Inbox[int]) error {
		close(begun)
		<-end
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, s.JoinGroup("g", p.PID()))
	receive(t, "the process", begun)
	require.NoError(t, p.TrySend(1))
	close(end)
	receive(t, "the message that nobody receives", entered)
	_, ok := s.Whereis("a")
	require.False(t, ok)
	require.Empty(t, s.Members("g"))
	require.Zero(t, s.Publish(t.Context(), "g", 1))
	require.False(t, s.LeaveGroup("g", p.PID()))
	next := spawn(t, s, waits)
	require.NoError(t, s.Register("a", next))
	letGo()
	eventually(t, "the first one has ended", func() bool { return s.Len() == 1 })
	pid, _ := s.Whereis("a")
	require.Equal(t, next, pid)
	require.True(t, s.Unregister("a"))
}
