package process_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// A loan is an answer that somebody must give back.
type loan struct{ released *atomic.Int32 }

func (l loan) Release() { l.released.Add(1) }

type asks = process.Request[int, loan]

func newLoan() loan { return loan{new(atomic.Int32)} }

// An answer that nobody waits for any more is released once. A second answer is not.
func TestALateAnswerIsReleased(t *testing.T) {
	s := newSystem(t, 1, process.Config{})
	requests := make(chan *asks, 1)
	ref, err := process.Go(s, process.Options{}, func(cx *sched.Context, self *process.Inbox[*asks]) error {
		for {
			q, err := self.Receive(cx)
			if err != nil {
				return err
			}
			if requests <- q; q.Body == 0 {
				return nil
			}
		}
	})
	require.NoError(t, err)
	ask := func(body int) (q *asks, result <-chan error, cancel context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := process.Call[int, loan](ctx, s, ref.PID(), body)
			ended <- err
		}()
		return receive(t, "the request", requests), ended, cancel
	}
	first, second := newLoan(), newLoan()

	q, result, cancel := ask(1)
	q.Reply(first)
	require.NoError(t, receive(t, "the answer", result))
	cancel()
	q.Reply(second)
	require.Zero(t, first.released.Load(), "the caller has it")
	require.Zero(t, second.released.Load())

	q, result, cancel = ask(1)
	cancel()
	require.ErrorIs(t, receive(t, "the end of the call", result), context.Canceled)
	q.Reply(first)
	q.Reply(second)
	require.EqualValues(t, 1, first.released.Load())
	require.Zero(t, second.released.Load())

	q, result, cancel = ask(0)
	require.ErrorIs(t, receive(t, "the end of the process", result), process.ErrNoProcess)
	cancel()
	q.Reply(second)
	require.EqualValues(t, 1, second.released.Load())
}

// An answer that has come is released if the call is given up before its task runs again.
func TestAnAnswerThatIsNotTakenIsReleased(t *testing.T) {
	s := newSystem(t, 1, process.Config{})
	answer := newLoan()
	ref, err := process.Go(s, process.Options{}, func(cx *sched.Context, self *process.Inbox[*asks]) error {
		q, err := self.Receive(cx)
		if err == nil {
			q.Reply(answer)
		}
		return err
	})
	require.NoError(t, err)
	call := process.CallFuture[int, loan](s, ref.PID(), 1)
	began, over := false, make(chan error, 1)
	_, err = process.Go(s, process.Options{}, func(cx *sched.Context, _ *process.Inbox[any]) error {
		_, err := sched.Await(cx, sched.FutureFunc[loan](func(cx *sched.Context) (loan, error) {
			if !began {
				began = true
				return call.Poll(cx)
			}
			call.(sched.Canceler).Cancel()
			return loan{}, nil
		}))
		over <- err
		return err
	})
	require.NoError(t, err)
	require.NoError(t, receive(t, "the end of the call", over))
	require.EqualValues(t, 1, answer.released.Load())
}
