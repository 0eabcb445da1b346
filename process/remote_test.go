package process_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// A bridge is a Remote between systems of one program. It lends room for messages.
type bridge struct {
	mu      sync.Mutex
	systems map[uint64]*process.System
	room    int
	waiting []sched.Waker
	forgot  []any
}

func (b *bridge) Send(to process.PID, message any) error {
	b.mu.Lock()
	if b.room == 0 {
		b.mu.Unlock()
		return process.ErrMailboxFull
	}
	b.room--
	b.mu.Unlock()
	s := b.systems[to.Node()]
	if q, ok := message.(*process.Request[int, int]); ok {
		message = process.NewRequest[int](q.Body, func(v int, err error) {
			if err != nil {
				q.Fail(err)
			} else {
				q.Reply(v)
			}
		})
	}
	return s.TrySend(to, message)
}

func (b *bridge) AwaitRoom(_ process.PID, w sched.Waker) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, w)
	return true
}

func (b *bridge) lend(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.room += n
	for _, w := range b.waiting {
		w.Wake()
	}
	b.waiting = nil
}

func (b *bridge) Forget(request any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgot = append(b.forgot, request)
}

func (b *bridge) Monitor(pid process.PID, ended func(error)) (stop func()) {
	stop, ok := b.systems[pid.Node()].OnEnd(pid, ended)
	if !ok {
		ended(process.ErrNoProcess)
	}
	return stop
}

func newBridge(t *testing.T, room int) (*bridge, *process.System, *process.System) {
	b := &bridge{systems: map[uint64]*process.System{}, room: room}
	for node := range uint64(2) {
		b.systems[node+1] = newSystem(t, 2, process.Config{Node: node + 1, Remote: b})
	}
	return b, b.systems[1], b.systems[2]
}

var errDone = errors.New("done")

// adder answers requests, and ends with errDone at 0.
func adder(cx *sched.Context, self *process.Inbox[*process.Request[int, int]]) error {
	for {
		q, err := self.Receive(cx)
		if err != nil {
			return err
		}
		if q.Body == 0 {
			return errDone
		}
		q.Reply(q.Body + 1)
	}
}

func TestARemoteReachesProcessesOfOtherNodes(t *testing.T) {
	b, near, far := newBridge(t, 1<<20)
	ref, err := process.Go(far, process.Options{}, adder)
	require.NoError(t, err)
	pid := ref.PID()
	require.Equal(t, uint64(2), pid.Node())
	require.Contains(t, pid.String(), "@2>")
	v, err := process.Call[int, int](t.Context(), near, pid, 41)
	require.NoError(t, err)
	require.Equal(t, 42, v)
	b.mu.Lock()
	require.Len(t, b.forgot, 1, "the answer has come: the Remote needs to keep nothing")
	b.mu.Unlock()

	downs := make(chan process.Event, 2)
	_, err = process.Go(near, process.Options{}, func(cx *sched.Context, self *process.Inbox[any]) error {
		tag := self.Monitor(pid)
		self.Demonitor(self.Monitor(pid))
		ev, err := self.ReceiveEvent(cx)
		if ev.Tag != tag {
			err = errors.New("another monitor")
		}
		downs <- ev
		return err
	})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := sched.Await(t.Context(), near.Done(pid))
		done <- err
	}()
	require.Equal(t, process.ErrNoProcess, near.Kill(pid), "only its own system kills a process")
	require.NoError(t, near.TrySend(pid, process.NewRequest[int](0, func(int, error) {})))
	ev := <-downs
	require.Equal(t, process.EventDown, ev.Type)
	require.Equal(t, pid, ev.Data)
	if err := <-done; err != errDone { // it may have asked after the end
		require.Equal(t, process.ErrNoProcess, err)
	}
	_, ok := far.OnEnd(pid, func(error) { t.Error("called") })
	require.False(t, ok)
}

func TestSendersWaitForTheRoomOfARemote(t *testing.T) {
	b, near, far := newBridge(t, 0)
	got := make(chan any, 8)
	ref, err := process.Go(far, process.Options{}, func(cx *sched.Context, self *process.Inbox[any]) error {
		for {
			m, err := self.Receive(cx)
			if err != nil {
				return err
			}
			got <- m
		}
	})
	require.NoError(t, err)
	require.Equal(t, process.ErrMailboxFull, near.TrySend(ref.PID(), 0))
	sent := make(chan error, 1)
	go func() { sent <- near.Send(t.Context(), ref.PID(), 1) }()
	eventually(t, "the sender waits", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.waiting) > 0
	})
	require.Empty(t, got)
	b.lend(1)
	require.NoError(t, <-sent)
	require.Equal(t, 1, <-got)
}

func TestDeliverWaitsForRoomWhateverTheOverflowIs(t *testing.T) {
	s := newSystem(t, 2, process.Config{Overflow: process.OverflowRefuse, Mailbox: 1})
	gate, got := make(chan struct{}), make(chan any, 8)
	ref, err := process.Go(s, process.Options{}, func(cx *sched.Context, self *process.Inbox[any]) error {
		<-gate
		for {
			m, err := self.Receive(cx)
			if err != nil {
				return err
			}
			got <- m
		}
	})
	require.NoError(t, err)
	require.NoError(t, s.TrySend(ref.PID(), 1))
	require.Equal(t, process.ErrMailboxFull, s.Send(t.Context(), ref.PID(), 2))
	delivered := make(chan error, 1)
	go func() { delivered <- s.Deliver(t.Context(), ref.PID(), 3) }()
	close(gate)
	require.NoError(t, <-delivered)
	require.Equal(t, 1, <-got)
	require.Equal(t, 3, <-got)
}

func TestAPIDIsEncodedWithItsNode(t *testing.T) {
	_, near, _ := newBridge(t, 0)
	ref, err := process.Go(near, process.Options{}, adder)
	require.NoError(t, err)
	b, err := ref.PID().MarshalBinary()
	require.NoError(t, err)
	var pid process.PID
	require.NoError(t, pid.UnmarshalBinary(b))
	require.Equal(t, ref.PID(), pid)
	require.Error(t, pid.UnmarshalBinary(b[1:]))
}

// A monitoring is a Remote that keeps the function of a monitor.
type monitoring struct {
	bridge
	ended func(error)
	stop  func() // nil: it does nothing
}

func (m *monitoring) Monitor(_ process.PID, ended func(error)) (stop func()) {
	m.ended = ended
	if m.stop == nil {
		return func() {}
	}
	return m.stop
}

// A Remote's function that crashes keeps nobody from learning of an end, and the Remote's other
// functions are called.
func TestAStopOfARemoteMayCrash(t *testing.T) {
	for name, do := range map[string]func(){"panic": func() { panic("oh") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			var stopped atomic.Int32
			m := &monitoring{stop: func() {
				stopped.Add(1)
				do()
			}}
			s := newSystem(t, 1, process.Config{Node: 1, Remote: m})
			other := newSystem(t, 1, process.Config{Node: 2})
			far := spawn(t, other, waits)
			monitors := make(chan bool)
			pid := spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
				self.Monitor(far)
				self.Monitor(far)
				monitors <- true
				_, err := self.Receive(cx)
				return err
			})
			receive(t, "the monitors", monitors)
			ended := make(chan error, 1)
			_, ok := s.OnEnd(pid, func(err error) { ended <- err })
			require.True(t, ok)
			require.NoError(t, s.TrySend(pid, 1))
			require.NoError(t, receive(t, "the end", ended))
			require.EqualValues(t, 2, stopped.Load())
		})
	}
}

// A function of OnEnd stops no goroutine of a Remote.
func TestAFunctionForTheEndOfARemoteProcessMayCrash(t *testing.T) {
	for name, do := range map[string]func(){"panic": func() { panic("oh") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			m := &monitoring{}
			s := newSystem(t, 1, process.Config{Node: 1, Remote: m})
			other := newSystem(t, 1, process.Config{Node: 2})
			reasons := make(chan error, 1)
			_, ok := s.OnEnd(spawn(t, other, waits), func(reason error) {
				reasons <- reason
				do()
			})
			require.True(t, ok)
			told := make(chan bool, 1)
			go func() {
				returned := false
				defer func() { told <- returned && recover() == nil }()
				m.ended(errDone)
				returned = true
			}()
			require.True(t, receive(t, "the remote goes on", told))
			require.Equal(t, errDone, receive(t, "the reason", reasons))
		})
	}
}
