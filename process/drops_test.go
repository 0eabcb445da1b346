package process_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// Messages that a system was yet to send are dropped once by its shutdown.
func TestDelayedMessagesOfASystemThatShutsDown(t *testing.T) {
	for name, do := range map[string]func(){"return": func() {}, "panic": func() { panic("oh") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			dropped := map[any]int{}
			s := process.New(process.Config{Grace: -1, Dropped: func(_ process.PID, m any, why error) {
				require.Equal(t, process.ErrNoProcess, why)
				dropped[m]++
				do()
			}})
			apart := func(f func()) { // f may exit its goroutine
				over := make(chan struct{})
				go func() {
					defer close(over)
					f()
				}()
				receive(t, "the end of the call", over)
			}
			pid := spawn(t, s, waits)
			first := s.SendAfter(time.Hour, pid, 1)
			s.SendAfter(time.Hour, pid, 2)
			require.True(t, s.SendAfter(time.Hour, pid, 3).Stop())
			apart(func() { require.NoError(t, s.Shutdown(context.Background())) })
			require.False(t, first.Stop())
			apart(func() { require.False(t, s.SendAfter(0, pid, 4).Stop()) })
			require.Equal(t, map[any]int{1: 1, 2: 1, 4: 1}, dropped)
			require.NoError(t, s.Shutdown(context.Background())) // closes the runtime
		})
	}
}

// A crashingRemote is a Remote whose Send crashes, as a codec may.
type crashingRemote struct {
	bridge
	do func()
}

func (f *crashingRemote) Send(process.PID, any) error {
	f.do()
	return nil
}

// A delayed send that crashes does not end the program.
func TestADelayedSendThatCrashes(t *testing.T) {
	for name, do := range map[string]func(){"panic": func() { panic("oh") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			dropped := make(chan error, 1)
			s := newSystem(t, 1, process.Config{Node: 1, Remote: &crashingRemote{do: do}, Dropped: func(_ process.PID, _ any, why error) { dropped <- why }})
			other := newSystem(t, 1, process.Config{Node: 2})
			s.SendAfter(0, spawn(t, other, waits), "message")
			require.Error(t, receive(t, "the message", dropped))
		})
	}
}

// The function of a request that is dropped may crash. The others are dropped all the same.
func TestTheFunctionOfADroppedRequestMayCrash(t *testing.T) {
	for crash, do := range map[string]func(){"panic": func() { panic("oh") }, "Goexit": runtime.Goexit} {
		for kind, start := range kinds {
			t.Run(crash+" in a "+kind, func(t *testing.T) {
				dropped := make(chan any, 3)
				s := newSystem(t, 1, process.Config{Dropped: func(_ process.PID, m any, _ error) { dropped <- m }})
				pid := start(t, s)
				eventually(t, "it waits", func() bool { return s.Status(pid) > process.Running })
				var sent []any
				for range 3 {
					m := process.NewRequest[int](1, func(int, error) { do() })
					sent = append(sent, m)
					require.NoError(t, s.TrySend(pid, m))
				}
				require.NoError(t, s.Kill(pid))
				for _, m := range sent {
					require.Same(t, m, receive(t, "a message", dropped))
				}
				eventually(t, "it has ended", func() bool { return s.Len() == 0 })
			})
		}
	}
}

// A fates counts what became of numbered messages.
type fates struct {
	mu                          sync.Mutex
	accepted, received, dropped map[int]int
}

func (f *fates) count(m map[int]int, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m[n]++
}

// A message that is accepted while its process ends is either received or dropped, once. A message
// that is refused is neither.
func TestMessagesToAProcessThatEnds(t *testing.T) {
	for overflow := process.OverflowRefuse; overflow <= process.OverflowDropNewest; overflow++ {
		for _, machines := range []bool{false, true} {
			t.Run(fmt.Sprint(overflow, machines), func(t *testing.T) {
				for range rounds(100) {
					messagesToAProcessThatEnds(t, overflow, machines)
				}
			})
		}
	}
}

func messagesToAProcessThatEnds(t *testing.T, overflow process.Overflow, machines bool) {
	const each, senders = 20, 4
	f := &fates{accepted: map[int]int{}, received: map[int]int{}, dropped: map[int]int{}}
	rt := sched.New(sched.Config{Workers: 2})
	s := process.New(process.Config{Runtime: rt, Grace: -1, Dropped: func(_ process.PID, m any, _ error) { f.count(f.dropped, m.(int)) }})
	o := process.Options{Mailbox: 8, Overflow: overflow}
	var pid process.PID
	if machines {
		pid = startMachine(t, s, &machine{step: func(events []process.Event, out *process.StepOutput) error {
			out.Status = process.Idle
			for _, ev := range events {
				if f.count(f.received, ev.Data.(int)); ev.Data == each/2 {
					out.Status = process.Complete
				}
			}
			return nil
		}}, o)
	} else {
		ref, err := process.Go(s, o, func(cx *sched.Context, self *process.Inbox[int]) error {
			for {
				m, err := self.Receive(cx)
				if err != nil {
					return err
				}
				if f.count(f.received, m); m == each/2 {
					return nil
				}
			}
		})
		require.NoError(t, err)
		pid = ref.PID()
	}
	_ = s.JoinGroup("g", pid)
	var all sync.WaitGroup
	for sender := range senders {
		all.Go(func() {
			for i := range each {
				n, accepted := sender*each+i, true
				switch sender {
				case 0:
					accepted = s.Send(t.Context(), pid, n) == nil
				case 1:
					accepted = s.TrySend(pid, n) == nil
				case 2:
					accepted = s.Publish(t.Context(), "g", n) == 1
				default:
					s.SendAfter(time.Duration(i)*10*time.Microsecond, pid, n)
				}
				if accepted {
					f.count(f.accepted, n)
				}
			}
		})
	}
	all.Wait()
	_ = s.Kill(pid) // the message that ends it was perhaps dropped
	eventually(t, "it has ended", func() bool { return s.Len() == 0 })
	require.NoError(t, s.Shutdown(context.Background()))
	require.NoError(t, rt.Close())
	eventually(t, "each message has its fate", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.received)+len(f.dropped) >= len(f.accepted)
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	for n := range senders * each {
		require.Equal(t, f.accepted[n], f.received[n]+f.dropped[n], "%d", n)
	}
}
