package process_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// stubborn is a process whose mailbox has one message, which it does not receive.
func stubborn(t *testing.T, s *process.System) process.Ref[int] {
	t.Helper()
	ref, err := process.Go(s, process.Options{Mailbox: 1, Overflow: process.OverflowWait}, func(cx *sched.Context, self *process.Inbox[int]) error {
		_, err := self.ReceiveMatch(cx, func(ev *process.Event) bool { return ev.Type == process.EventCancel })
		return err
	})
	require.NoError(t, err)
	require.NoError(t, ref.Send(t.Context(), 0))
	return ref
}

// report runs a function as a process, and returns its result.
func report(t *testing.T, s *process.System, fn func(cx *sched.Context, self *process.Inbox[int]) error) error {
	t.Helper()
	result := make(chan error, 1)
	_, err := process.Go(s, process.Options{}, func(cx *sched.Context, self *process.Inbox[int]) error {
		result <- fn(cx, self)
		return nil
	})
	require.NoError(t, err)
	return receive(t, "the function returns", result)
}

// In a process, each wait ends with a context that was derived from the process's.
func TestWaitsEndWithADerivedContext(t *testing.T) {
	for name, wait := range map[string]func(ctx context.Context, to process.Ref[int], self *process.Inbox[int]) error{
		"Send": func(ctx context.Context, to process.Ref[int], _ *process.Inbox[int]) error { return to.Send(ctx, 1) },
		"Deliver": func(ctx context.Context, to process.Ref[int], self *process.Inbox[int]) error {
			return self.System().Deliver(ctx, to.PID(), 1)
		},
		"Call": func(ctx context.Context, to process.Ref[int], self *process.Inbox[int]) error {
			_, err := process.Call[int, int](ctx, self.System(), to.PID(), 1)
			return err
		},
		"Receive": func(ctx context.Context, _ process.Ref[int], self *process.Inbox[int]) error {
			_, err := self.Receive(ctx)
			return err
		},
		"ReceiveEvent": func(ctx context.Context, _ process.Ref[int], self *process.Inbox[int]) error {
			_, err := self.ReceiveEvent(ctx)
			return err
		},
		"ReceiveMatch": func(ctx context.Context, _ process.Ref[int], self *process.Inbox[int]) error {
			_, err := self.ReceiveMatch(ctx, func(*process.Event) bool { return true })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *process.System) {
				to := stubborn(t, s)
				require.ErrorIs(t, report(t, s, func(cx *sched.Context, self *process.Inbox[int]) error {
					ctx, cancel := context.WithTimeout(cx, time.Millisecond)
					defer cancel()
					return wait(ctx, to, self)
				}), context.DeadlineExceeded)
			})
		})
	}
}

// A message that has arrived is received, although the context has ended.
func TestAReceiveWithAContextThatHasEnded(t *testing.T) {
	s := newSystem(t, 1, process.Config{})
	require.NoError(t, report(t, s, func(cx *sched.Context, self *process.Inbox[int]) error {
		ctx, cancel := context.WithCancel(cx)
		cancel()
		for i := range 3 {
			if err := self.TrySend(self.PID(), i); err != nil {
				return err
			}
		}
		for i := range 3 {
			m, err := self.Receive(ctx)
			if err != nil || m != i {
				t.Errorf("received %d, %v", m, err)
			}
		}
		_, err := self.Receive(ctx)
		require.ErrorIs(t, err, context.Canceled)
		return nil
	}))
}

// TrySend never waits, and Send with an ordinary context does not block a worker.
func TestSendsThatCannotWait(t *testing.T) {
	s := newSystem(t, 1, process.Config{})
	to := stubborn(t, s)
	require.Equal(t, process.ErrMailboxFull, to.TrySend(1))
	require.NoError(t, report(t, s, func(cx *sched.Context, self *process.Inbox[int]) error {
		require.Equal(t, process.ErrMailboxFull, self.TrySend(to.PID(), 1))
		require.ErrorIs(t, to.Send(context.Background(), 1), sched.ErrBlocksWorker)
		_, err := process.Call[int, int](context.Background(), s, to.PID(), 1)
		require.ErrorIs(t, err, sched.ErrBlocksWorker)
		_, err = sched.Await(cx, sched.Select(to.SendFuture(1), sched.Future[struct{}](sched.Sleep(time.Millisecond))))
		return err
	}))
	var nobody process.Ref[int]
	require.Equal(t, process.ErrNoProcess, nobody.Send(t.Context(), 1))
	require.Equal(t, process.ErrNoProcess, nobody.TrySend(1))
	_, err := sched.Await(t.Context(), nobody.SendFuture(1))
	require.Equal(t, process.ErrNoProcess, err)
}

// Only the function of a process receives: not its tasks, and not its goroutines. The messages
// stay.
func TestOthersCannotReceive(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		require.NoError(t, report(t, s, func(cx *sched.Context, self *process.Inbox[int]) error {
			for _, m := range []int{7, 8} {
				require.NoError(t, self.TrySend(self.PID(), m))
			}
			if _, err := self.ReceiveMatch(cx, func(ev *process.Event) bool { return ev.Data == 8 }); err != nil {
				return err
			}
			task := sched.Go(cx, func(other *sched.Context) (struct{}, error) {
				for _, ctx := range []context.Context{other, cx} {
					if _, err := self.Receive(ctx); err == nil {
						t.Error("a task has received")
					} else {
						require.ErrorIs(t, err, sched.ErrMisuse)
					}
				}
				return struct{}{}, nil
			})
			if _, err := sched.Await[struct{}](cx, task); err != nil {
				return err
			}
			done := make(chan error, 2)
			go func() {
				_, err := self.Receive(cx)
				done <- err
				_, err = self.ReceiveEvent(context.Background())
				done <- err
			}()
			for range 2 {
				err, waited := sched.Await(cx, sched.Recv(done))
				require.NoError(t, waited)
				require.ErrorIs(t, err, sched.ErrMisuse)
			}
			m, err := self.Receive(cx)
			require.Equal(t, 7, m)
			return err
		}))
	})
}

// A send that could wait refuses a nil context also if there is room. Nothing is sent.
func TestASendRefusesANilContextAlsoWhereThereIsRoom(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		got := make(chan int, 1)
		to, err := process.Go(s, process.Options{}, func(cx *sched.Context, self *process.Inbox[int]) error {
			m, err := self.Receive(cx)
			got <- m
			return err
		})
		require.NoError(t, err)
		var none context.Context
		require.ErrorIs(t, to.Send(none, 1), sched.ErrMisuse)
		require.ErrorIs(t, s.Deliver(none, to.PID(), 2), sched.ErrMisuse)
		require.NoError(t, to.Send(t.Context(), 3))
		require.Equal(t, 3, receive(t, "the message", got))
	})
}
