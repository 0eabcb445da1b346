package process_test

import (
	"context"
	"io"
	"log/slog"
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

// A crashing is an error that does something when it is asked what it is.
type crashing struct{ do func() }

func (crashing) Error() string { return "crashing" }

func (e crashing) Is(error) bool {
	e.do()
	return false
}

// Both kinds of processes, which end with an error at their first message.
func endingWith(t *testing.T, s *process.System, err error) map[string]process.PID {
	return map[string]process.PID{
		"function": spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
			if _, canceled := self.Receive(cx); canceled != nil {
				return canceled
			}
			return err
		}),
		"state machine": startMachine(t, s, &machine{step: func(events []process.Event, out *process.StepOutput) error {
			out.Status = process.Idle
			if len(events) > 0 && events[0].Type == process.EventMessage {
				return err
			}
			return nil
		}}, process.Options{}),
	}
}

// The reason of an end is the user's, with the user's methods. All linked processes and all that
// wait for the end learn of it, whatever these methods do.
func TestAReasonMayCrash(t *testing.T) {
	for crash, do := range map[string]func(){"panic": func() { panic("oh") }, "Goexit": runtime.Goexit} {
		t.Run(crash, func(t *testing.T) {
			s := newSystem(t, 1, process.Config{})
			for kind, pid := range endingWith(t, s, crashing{do}) {
				var links []process.PID
				linked := make(chan bool)
				for range 3 {
					links = append(links, spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
						self.Link(pid)
						linked <- true
						_, err := self.Receive(cx)
						return err
					}))
					receive(t, "the link", linked)
				}
				ended := make(chan error, 1)
				_, ok := s.OnEnd(pid, func(err error) { ended <- err })
				require.True(t, ok)
				require.NoError(t, s.TrySend(pid, 1))
				require.IsType(t, crashing{}, receive(t, kind, ended))
				for _, l := range links {
					eventually(t, "a linked process ends", func() bool { return s.Status(l) == process.Complete })
				}
			}
		})
	}
}

// A handler is a log whose handler panics.
type handler struct{ slog.Handler }

func (handler) Handle(ctx context.Context, r slog.Record) error { panic("the log is full") }

// A process ends also if its panic cannot be logged.
func TestALogThatPanicsKeepsNoProcess(t *testing.T) {
	s := newSystem(t, 1, process.Config{Logger: slog.New(handler{slog.NewTextHandler(io.Discard, nil)})})
	for kind, pid := range map[string]process.PID{
		"function": spawn(t, s, func(*sched.Context, *process.Inbox[any]) error { panic("oh") }),
		"state machine": startMachine(t, s, &machine{step: func([]process.Event, *process.StepOutput) error {
			panic("oh")
		}}, process.Options{}),
	} {
		eventually(t, kind, func() bool { return s.Status(pid) == process.Complete })
	}
	eventually(t, "all have ended", func() bool { return s.Len() == 0 })
}
