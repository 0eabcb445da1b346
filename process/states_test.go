package process_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

type ask struct{}

// Every change of the diagram in the package comment, observed from outside. Handlers answer when
// the test wants.
func TestEachChangeOfTheStates(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		asked := make(chan uint64, 10)
		process.OnCommand(s, func(_ process.PID, tag uint64, _ ask) { asked <- tag })
		type step struct {
			events []process.Event
			next   chan process.StepOutput
		}
		steps := make(chan step)
		closed := make(chan struct{})
		var inits []any
		m := &machine{
			init: func(_ context.Context, method string, input any) error {
				inits = append(inits, method, input)
				return nil
			},
			step: func(events []process.Event, out *process.StepOutput) error {
				now := step{append([]process.Event(nil), events...), make(chan process.StepOutput)}
				steps <- now
				*out = <-now.next
				return nil
			},
			close: func() { close(closed) },
		}
		pid := startMachine(t, s, m, process.Options{Method: "main", Input: 7})
		is := func(want process.Status) {
			t.Helper()
			eventually(t, "the status is "+want.String(), func() bool { return s.Status(pid) == want })
		}

		now := receive(t, "the first step", steps) // Ready → Running
		require.Equal(t, []any{"main", 7}, inits)
		require.Empty(t, now.events)
		is(process.Running)
		now.next <- process.StepOutput{Status: process.Ready} // Running → Ready → Running
		now = receive(t, "a step of a ready process", steps)
		require.Empty(t, now.events)

		out := process.StepOutput{Status: process.Blocked}
		out.Yield(5, ask{})
		now.next <- out // Running → Blocked
		require.EqualValues(t, 5, receive(t, "the command", asked))
		is(process.Blocked)
		require.NoError(t, s.TrySend(pid, "first"))
		require.NoError(t, s.TrySend(pid, "second"))
		is(process.Blocked) // a message does not wake it
		failure := errors.New("no")
		require.NoError(t, s.CompleteYield(pid, 5, "answer", failure)) // Blocked → Ready → Running
		now = receive(t, "the step after the answer", steps)
		require.Equal(t, []process.Event{
			{Type: process.EventYield, Tag: 5, Data: "answer", Error: failure},
			{Type: process.EventMessage, Data: "first"},
			{Type: process.EventMessage, Data: "second"},
		}, now.events)

		now.next <- process.StepOutput{Status: process.Idle} // Running → Idle
		is(process.Idle)
		require.NoError(t, s.TrySend(pid, "third")) // Idle → Ready → Running
		now = receive(t, "the step after the message", steps)
		require.Equal(t, []process.Event{{Data: "third"}}, now.events)

		require.NoError(t, s.TrySend(pid, "while it runs"))
		now.next <- process.StepOutput{Status: process.Idle} // the wake-up flag: Running → Ready
		now = receive(t, "the step after a message while it ran", steps)
		require.Equal(t, []process.Event{{Data: "while it runs"}}, now.events)

		require.NoError(t, s.CompleteYield(pid, 6, nil, nil))
		out = process.StepOutput{Status: process.Blocked}
		now.next <- out
		now = receive(t, "the step after an answer while it ran", steps)
		require.Equal(t, []process.Event{{Type: process.EventYield, Tag: 6}}, now.events)

		now.next <- process.StepOutput{Status: process.Complete} // Running → Complete
		receive(t, "Close", closed)
		is(process.Complete)
		require.Equal(t, process.ErrNoProcess, s.TrySend(pid, "late"))
		require.Equal(t, process.ErrNoProcess, s.CompleteYield(pid, 1, nil, nil))
		require.Equal(t, process.ErrNoProcess, s.Kill(pid))
		require.Equal(t, process.ErrNoProcess, s.Cancel(pid))
	})
}

type now struct{}  // is completed within the handler
type soon struct{} // by another goroutine

// A process has several commands in progress, and is blocked between. Answers come while it runs,
// and after. Messages come all the time.
func TestAnswersThatRaceWithARunningProcess(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		process.OnCommand(s, func(pid process.PID, tag uint64, _ now) {
			if err := s.CompleteYield(pid, tag, nil, nil); err != nil {
				t.Error(err)
			}
		})
		process.OnCommand(s, func(pid process.PID, tag uint64, _ soon) {
			go func() { _ = s.CompleteYield(pid, tag, nil, nil) }()
		})
		most := uint64(rounds(20000))
		var messages atomic.Int64
		next, open := uint64(0), map[uint64]bool{}
		done := make(chan struct{})
		m := &machine{step: func(events []process.Event, out *process.StepOutput) error {
			answers := 0
			for _, ev := range events {
				switch ev.Type {
				case process.EventMessage:
					messages.Add(1)
				case process.EventYield:
					answers++
					if !open[ev.Tag] {
						t.Errorf("answer %d came twice, or nobody asked", ev.Tag)
					}
					delete(open, ev.Tag)
				}
			}
			if next > 0 && answers == 0 {
				t.Error("a blocked process was run without an answer")
			}
			if next == most && len(open) == 0 {
				out.Status = process.Complete
				close(done)
				return nil
			}
			for next < most && len(open) < 3 {
				next++
				open[next] = true
				if next%3 == 0 {
					out.Yield(next, now{})
				} else {
					out.Yield(next, soon{})
				}
			}
			out.Status = process.Blocked
			return nil
		}}
		pid := startMachine(t, s, m, process.Options{Mailbox: -1})
		sent := int64(0)
		for {
			if s.TrySend(pid, sent) != nil {
				break
			}
			if sent++; sent%64 == 0 {
				runtime.Gosched()
			}
		}
		receive(t, "all answers", done)
		require.LessOrEqual(t, messages.Load(), sent)
	})
}

// More events wait than one Step gets, and the answer is behind them.
func TestAnAnswerBehindManyMessagesIsNotMissed(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		asked := make(chan uint64, 1)
		process.OnCommand(s, func(_ process.PID, tag uint64, _ ask) { asked <- tag })
		got, began := 0, false
		m := &machine{step: func(events []process.Event, out *process.StepOutput) error {
			out.Status = process.Blocked
			if !began {
				began = true
				out.Yield(1, ask{})
				return nil
			}
			if got += len(events); got == len(events) && events[0].Type != process.EventYield {
				t.Errorf("it begins with %v", events[0])
			}
			if out.Status = process.Idle; got == 501 {
				out.Status = process.Complete
			}
			return nil
		}}
		pid := startMachine(t, s, m, process.Options{})
		receive(t, "the command", asked)
		for range 500 {
			require.NoError(t, s.TrySend(pid, 1))
		}
		require.NoError(t, s.CompleteYield(pid, 1, nil, nil))
		eventually(t, "all events are received", func() bool { return s.Status(pid) == process.Complete })
	})
}

// Completions come in the order in which a handler has made them, in more than one Step.
func TestMoreCompletionsThanOneStepGets(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		const n = 300
		process.OnCommand(s, func(pid process.PID, tag uint64, _ ask) {
			if err := s.CompleteYield(pid, tag, nil, nil); err != nil {
				t.Error(err)
			}
		})
		var got []uint64
		began, done := false, make(chan struct{})
		startMachine(t, s, &machine{step: func(events []process.Event, out *process.StepOutput) error {
			for tag := range uint64(n) {
				if !began {
					out.Yield(tag, ask{})
				}
			}
			began = true
			for _, ev := range events {
				got = append(got, ev.Tag)
			}
			if out.Status = process.Blocked; len(got) == n {
				out.Status = process.Complete
				close(done)
			}
			return nil
		}}, process.Options{})
		receive(t, "all completions", done)
		for i, tag := range got {
			require.EqualValues(t, i, tag)
		}
	})
}

func TestAPanicOfAHandlerEndsTheProcess(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		entered := make(chan struct{})
		process.OnCommand(s, func(process.PID, uint64, ask) {
			<-entered
			panic("of the test")
		})
		closed := make(chan struct{})
		pid := startMachine(t, s, &machine{step: func(_ []process.Event, out *process.StepOutput) error {
			out.Status = process.Blocked
			out.Yield(1, ask{})
			return nil
		}, close: func() { close(closed) }}, process.Options{})
		reason := reasonOf(t, s, pid)
		close(entered)
		require.ErrorAs(t, receive(t, "the end", reason), new(*sched.PanicError))
		receive(t, "Close", closed)
	})
}

func TestACommandWithoutAHandlerFails(t *testing.T) {
	s := newSystem(t, 1, process.Config{})
	got := make(chan process.Event, 1)
	first := true
	startMachine(t, s, &machine{step: func(events []process.Event, out *process.StepOutput) error {
		out.Status = process.Blocked
		if first {
			first = false
			out.Yield(3, struct{ unknown int }{})
			return nil
		}
		got <- events[0]
		out.Status = process.Complete
		return nil
	}}, process.Options{})
	require.Equal(t, process.Event{Type: process.EventYield, Tag: 3, Error: process.ErrNoHandler}, receive(t, "the answer", got))
}

// However a process ends, Close is called once, and the reason is what its watchers get.
func TestReasons(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	failure := errors.New("failure")
	panics := func(err error) bool { return errors.As(err, new(*sched.PanicError)) }
	is := func(want error) func(error) bool { return func(err error) bool { return err == want } }
	for _, c := range []struct {
		name   string
		init   error
		step   func(out *process.StepOutput) error
		reason func(error) bool
		steps  bool
	}{
		{"complete", nil, func(out *process.StepOutput) error { out.Status = process.Complete; return nil }, is(nil), true},
		{"an error of Init", failure, func(*process.StepOutput) error { return nil }, is(failure), false},
		{"an error of Step", nil, func(*process.StepOutput) error { return failure }, is(failure), true},
		{"a panic", nil, func(*process.StepOutput) error { panic(failure) }, panics, true},
		{"a nil panic", nil, func(*process.StepOutput) error { panic(nil) }, panics, true},
		{"Goexit", nil, func(*process.StepOutput) error { runtime.Goexit(); return nil }, is(sched.ErrGoexit), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *process.System) {
				var closes atomic.Int32
				stepped := false
				m := &machine{close: func() { closes.Add(1) }}
				m.init = func(context.Context, string, any) error { return c.init }
				m.step = func(_ []process.Event, out *process.StepOutput) error { stepped = true; return c.step(out) }
				watched := make(chan error, 1)
				spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
					self.TrapExits(true)
					if _, err := process.Start(&self.Self, m, process.Options{Link: true}); err != nil {
						return err
					}
					ev, err := self.ReceiveEvent(cx)
					if err == nil {
						watched <- ev.Error
					}
					return err
				})
				reason := receive(t, "the end", watched)
				require.True(t, c.reason(reason), "%v", reason)
				require.EqualValues(t, 1, closes.Load())
				require.Equal(t, c.steps, stepped)
			})
		})
	}
}

func TestAFunctionsReasonIsItsError(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		failure := errors.New("failure")
		for name, fn := range map[string]func() error{
			"nil": func() error { return nil }, "failure": func() error { return failure },
			"panic": func() error { panic("oh") }, "exit": func() error { runtime.Goexit(); return nil },
		} {
			begin := make(chan struct{})
			pid := spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
				if _, err := self.Receive(cx); err != nil {
					return err
				}
				return fn()
			})
			got := make(chan error, 1)
			spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
				self.Monitor(pid)
				close(begin)
				ev, err := self.ReceiveEvent(cx)
				got <- ev.Error
				return err
			})
			receive(t, "the monitor", begin)
			require.NoError(t, s.TrySend(pid, "go on"))
			reason := receive(t, "the end", got)
			switch name {
			case "nil":
				require.NoError(t, reason)
			case "failure":
				require.Equal(t, failure, reason)
			case "panic":
				require.ErrorAs(t, reason, new(*sched.PanicError))
			case "exit":
				require.Equal(t, sched.ErrGoexit, reason)
			}
		}
	})
}

// A process whose Init fails has received nothing: its messages are dropped.
func TestMessagesOfAProcessWhoseInitFails(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errTest },
		"panic": func() error { panic("of the test") },
	} {
		t.Run(name, func(t *testing.T) {
			dropped := make(chan any, 2)
			s := newSystem(t, 1, process.Config{Dropped: func(_ process.PID, m any, why error) {
				if why == process.ErrNoProcess {
					dropped <- m
				}
			}})
			busy, release := make(chan struct{}), make(chan struct{})
			startMachine(t, s, &machine{step: func(_ []process.Event, out *process.StepOutput) error {
				close(busy)
				<-release
				out.Status = process.Complete
				return nil
			}}, process.Options{})
			receive(t, "the only worker", busy)
			pid := startMachine(t, s, &machine{init: func(context.Context, string, any) error { return fail() }}, process.Options{})
			require.NoError(t, s.TrySend(pid, 1))
			require.NoError(t, s.TrySend(pid, 2))
			close(release)
			require.Equal(t, 1, receive(t, "a message", dropped))
			require.Equal(t, 2, receive(t, "a message", dropped))
		})
	}
}
