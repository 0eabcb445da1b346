package process_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// policies are those that a selective receive has to do with.
var policies = map[string]process.Overflow{
	"refuse": process.OverflowRefuse, "wait": process.OverflowWait,
	"drop oldest": process.OverflowDropOldest, "drop newest": process.OverflowDropNewest,
}

// The function of a selective receive is called without a lock: it may use the system and panic.
func TestTheFunctionOfASelectiveReceive(t *testing.T) {
	for name, overflow := range policies {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *process.System) {
				ref, err := process.Go(s, process.Options{Overflow: overflow, Mailbox: 3}, func(cx *sched.Context, self *process.Inbox[any]) error {
					for _, want := range []any{"first", "sent by match"} {
						ev, err := self.ReceiveMatch(cx, func(ev *process.Event) bool {
							if ev.Data == "first" {
								if err := s.Register("name", self.PID()); err != nil {
									t.Error(err)
								}
								if err := s.TrySend(self.PID(), "sent by match"); err != nil {
									t.Error(err)
								}
							}
							return ev.Data == want
						})
						if err != nil || ev.Data != want {
							t.Error(ev, err)
						}
					}
					_, err := self.ReceiveMatch(cx, func(*process.Event) bool { panic("oh") })
					return err
				})
				require.NoError(t, err)
				reason := reasonOf(t, s, ref.PID())
				for _, m := range []any{"first", "last"} {
					require.NoError(t, ref.TrySend(m))
				}
				var p *sched.PanicError
				require.ErrorAs(t, receive(t, "the end", reason), &p)
				require.Equal(t, "oh", p.Value)
			})
		})
	}
}

// The event that a selective receive looks at may be dropped meanwhile. It is then not received.
func TestASelectiveReceiveWhoseEventIsDropped(t *testing.T) {
	for _, drops := range []int{1, 2, 3, 4, 7} {
		t.Run(fmt.Sprint(drops), func(t *testing.T) {
			var dropped []any
			s := newSystem(t, 1, process.Config{Dropped: func(_ process.PID, m any, _ error) { dropped = append(dropped, m) }})
			got := make(chan []any, 1)
			_, err := process.Go(s, process.Options{Overflow: process.OverflowDropOldest, Mailbox: 3}, func(cx *sched.Context, self *process.Inbox[any]) error {
				for i := range 3 {
					if err := self.TrySend(self.PID(), i); err != nil {
						return err
					}
				}
				var all []any
				ev, err := self.ReceiveMatch(cx, func(ev *process.Event) bool {
					if ev.Data == 0 {
						for i := range drops {
							if err := self.TrySend(self.PID(), 3+i); err != nil {
								t.Error(err)
							}
						}
					}
					return ev.Data != 1
				})
				all = append(all, ev.Data)
				for range 2 {
					m, err := self.Receive(cx)
					if err != nil {
						return err
					}
					all = append(all, m)
				}
				all = append(all, dropped...)
				got <- all
				return err
			})
			require.NoError(t, err)
			all := receive(t, "the messages", got)
			seen := map[any]int{}
			for _, m := range all {
				seen[m]++
			}
			require.Len(t, seen, 3+drops, "each message is received or dropped: %v", all)
			require.NotContains(t, all[:1], 0, "it was dropped")
		})
	}
}

// Each message is received or dropped, once, while many send and receives are selective.
func TestASelectiveReceiveBesideSendersThatDrop(t *testing.T) {
	const senders = 3
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			each := rounds(10000)
			counts := make([]atomic.Int32, senders*each)
			s := newSystem(t, workers, process.Config{Dropped: func(_ process.PID, m any, _ error) { counts[m.(int)].Add(1) }})
			ref, err := process.Go(s, process.Options{Overflow: process.OverflowDropOldest, Mailbox: 4}, func(cx *sched.Context, self *process.Inbox[any]) error {
				for n := 0; ; n++ {
					ev, err := self.ReceiveMatch(cx, func(ev *process.Event) bool {
						m, ok := ev.Data.(int)
						return !ok || m%3 == n%3
					})
					if err != nil || ev.Type == process.EventCancel {
						return err
					}
					if m := ev.Data.(int); m%3 != n%3 {
						t.Errorf("message %d does not match %d", m, n%3)
					}
					counts[ev.Data.(int)].Add(1)
				}
			})
			require.NoError(t, err)
			var wg sync.WaitGroup
			for i := range senders {
				wg.Go(func() {
					for n := range each {
						if err := ref.TrySend(i*each + n); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			require.NoError(t, s.Cancel(ref.PID()))
			eventually(t, "it has ended", func() bool { return s.Len() == 0 })
			for i := range counts {
				require.EqualValues(t, 1, counts[i].Load(), "message %d", i)
			}
		})
	}
}
