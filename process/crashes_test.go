package process_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// kinds starts a process of each kind, which waits for a kill and keeps its messages.
var kinds = map[string]func(t *testing.T, s *process.System) process.PID{
	"function": func(t *testing.T, s *process.System) process.PID {
		return spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
			_, err := self.ReceiveMatch(cx, func(*process.Event) bool { return false })
			return err
		})
	},
	"state machine": func(t *testing.T, s *process.System) process.PID {
		return startMachine(t, s, &machine{step: func(_ []process.Event, out *process.StepOutput) error {
			out.Status = process.Blocked
			return nil
		}}, process.Options{})
	},
}

// The end of a process calls functions of the user. Each of them is called, and all others learn of
// the end, whatever these functions do.
func TestFunctionsThatTheEndOfAProcessCallsMayCrash(t *testing.T) {
	for crash, do := range map[string]func(){"panic": func() { panic("oh") }, "Goexit": runtime.Goexit} {
		for kind, start := range kinds {
			t.Run(crash+" in a "+kind, func(t *testing.T) {
				var dropped, ended atomic.Int32
				s := newSystem(t, 1, process.Config{Dropped: func(process.PID, any, error) {
					dropped.Add(1)
					do()
				}})
				pid := start(t, s)
				eventually(t, "it waits", func() bool { return s.Status(pid) > process.Running })
				for i := range 5 {
					require.NoError(t, s.TrySend(pid, i))
					_, ok := s.OnEnd(pid, func(error) {
						ended.Add(1)
						do()
					})
					require.True(t, ok)
				}
				linked, reasons := make(chan process.Event), make(chan process.Event, 2)
				spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
					self.TrapExits(true)
					self.Link(pid)
					self.Monitor(pid)
					linked <- process.Event{}
					for range 2 {
						ev, err := self.ReceiveEvent(cx)
						if err != nil {
							return err
						}
						reasons <- ev
					}
					return nil
				})
				receive(t, "the link", linked)
				require.NoError(t, s.Kill(pid))
				for range 2 {
					ev := receive(t, "the link and the monitor", reasons)
					require.Equal(t, pid, ev.Data)
					require.Equal(t, process.ErrKilled, ev.Error)
				}
				eventually(t, "all have ended", func() bool { return s.Len() == 0 })
				require.EqualValues(t, 5, dropped.Load())
				require.EqualValues(t, 5, ended.Load())

				// The slot of the process is free once.
				found := map[process.PID]bool{}
				for range 100 {
					pid := start(t, s)
					found[pid] = true
				}
				for pid := range found {
					require.NotEqual(t, process.Complete, s.Status(pid))
					require.NoError(t, s.Kill(pid))
				}
			})
		}
	}
}
