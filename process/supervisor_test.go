package process_test

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// A troupe is the children of a supervisor. It hears when one is started or ends.
type troupe struct {
	t      *testing.T
	s      *process.System
	events chan string
	pids   map[string]process.PID // as the test has heard
	starts chan started
}

type started struct {
	name string
	pid  process.PID
	at   time.Duration
}

func newTroupe(t *testing.T, s *process.System) *troupe {
	return &troupe{t, s, make(chan string, 100), map[string]process.PID{}, make(chan started, 100)}
}

func (tr *troupe) child(name string, restart process.Restart) process.Child {
	return process.Child{Name: name, Restart: restart, Start: func(at process.Starter, o process.Options) (process.PID, error) {
		o.Name = name
		ref, err := process.Go(at, o, func(cx *sched.Context, self *process.Inbox[any]) error {
			err := ends(cx, self)
			tr.events <- fmt.Sprint(name, " ends: ", err)
			return err
		})
		tr.starts <- started{name, ref.PID(), tr.s.Runtime().Now()}
		return ref.PID(), err
	}}
}

// starting waits for the starts of children, in that order.
func (tr *troupe) starting(names ...string) (at time.Duration) {
	tr.t.Helper()
	for _, name := range names {
		got := receive(tr.t, name+" starts", tr.starts)
		require.Equal(tr.t, name, got.name)
		tr.pids[name] = got.pid
		at = got.at
	}
	return at
}

func (tr *troupe) hears(events ...string) {
	tr.t.Helper()
	for _, ev := range events {
		require.Equal(tr.t, ev, receive(tr.t, ev, tr.events))
	}
}

// end makes a child end with a reason.
func (tr *troupe) end(name string, reason any) {
	tr.t.Helper()
	require.NoError(tr.t, tr.s.TrySend(tr.pids[name], reason))
}

const bye = " ends: process: canceled: context canceled"

func TestStrategies(t *testing.T) {
	for _, c := range []struct {
		strategy         process.Strategy
		ended, restarted []string
	}{
		{process.OneForOne, nil, []string{"b"}},
		{process.OneForAll, []string{"c" + bye, "a" + bye}, []string{"a", "b", "c"}},
		{process.RestForOne, []string{"c" + bye}, []string{"b", "c"}},
	} {
		t.Run(fmt.Sprint(c.strategy), func(t *testing.T) {
			onEach(t, func(t *testing.T, s *process.System) {
				tr := newTroupe(t, s)
				top, err := process.Supervisor{Strategy: c.strategy, Children: []process.Child{
					tr.child("a", process.Permanent), tr.child("b", process.Permanent), tr.child("c", process.Permanent),
				}}.Start(s, process.Options{})
				require.NoError(t, err)
				tr.starting("a", "b", "c")
				old := tr.pids["b"]
				tr.end("b", errTest)
				tr.hears("b ends: test")
				tr.hears(c.ended...)
				tr.starting(c.restarted...)
				require.NotEqual(t, old, tr.pids["b"])
				require.Equal(t, process.ErrNoProcess, s.TrySend(old, nil))
				require.NoError(t, s.Cancel(top))
				tr.hears("c"+bye, "b"+bye, "a"+bye)
				eventually(t, "all have ended", func() bool { return s.Len() == 0 })
			})
		})
	}
}

func TestWhichChildrenAreRestarted(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		for _, c := range []struct {
			restart process.Restart
			reason  any
			again   bool
		}{
			{process.Permanent, nil, true}, {process.Permanent, errTest, true},
			{process.Transient, nil, false}, {process.Transient, process.ErrCanceled, false}, {process.Transient, errTest, true},
			{process.Temporary, nil, false}, {process.Temporary, errTest, false},
		} {
			tr := newTroupe(t, s)
			top, err := process.Supervisor{Children: []process.Child{tr.child("a", c.restart), tr.child("b", process.Permanent)}}.Start(s, process.Options{})
			require.NoError(t, err)
			for range 2 {
				got := receive(t, "a start", tr.starts)
				tr.pids[got.name] = got.pid
			}
			tr.end("a", c.reason)
			receive(t, "its end", tr.events)
			if c.again {
				tr.starting("a")
			} else { // b is restarted after the supervisor has dealt with a
				tr.end("b", nil)
				receive(t, "its end", tr.events)
				tr.starting("b")
			}
			require.NoError(t, s.Cancel(top))
			eventually(t, "all have ended", func() bool { return s.Len() == 0 })
			require.Empty(t, tr.starts)
		}
	})
}

// When all are restarted, a temporary child is not, and neither is one that had ended for good.
func TestWhoIsRestartedWithTheOthers(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		tr := newTroupe(t, s)
		top, err := process.Supervisor{Strategy: process.OneForAll, Children: []process.Child{
			tr.child("a", process.Permanent), tr.child("b", process.Temporary), tr.child("c", process.Transient), tr.child("d", process.Permanent),
		}}.Start(s, process.Options{})
		require.NoError(t, err)
		tr.starting("a", "b", "c", "d")
		tr.end("c", nil)
		tr.hears("c ends: <nil>")
		eventually(t, "the supervisor was told", func() bool { return s.Len() == 4 })
		tr.end("a", errTest)
		tr.hears("a ends: test", "d"+bye, "b"+bye)
		tr.starting("a", "d")
		require.NoError(t, s.Cancel(top))
		tr.hears("d"+bye, "a"+bye)
		eventually(t, "all have ended", func() bool { return s.Len() == 0 })
		require.Empty(t, tr.starts)
	})
}

// After three restarts within the period the fourth end is too much. Restarts outside of it do not
// count.
func TestIntensity(t *testing.T) {
	s := paused(t)
	tr := newTroupe(t, s)
	top, err := process.Supervisor{Period: time.Minute, Children: []process.Child{
		tr.child("a", process.Permanent), tr.child("b", process.Permanent),
	}}.Start(s, process.Options{})
	require.NoError(t, err)
	reason := make(chan error, 1)
	watching := make(chan struct{})
	spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
		self.Monitor(top)
		close(watching)
		ev, err := self.ReceiveEvent(cx)
		reason <- ev.Error
		return err
	})
	receive(t, "the monitor", watching)
	tr.starting("a", "b")
	for range 3 {
		tr.end("a", errTest)
		tr.hears("a ends: test")
		tr.starting("a")
	}
	s.Runtime().Advance(2 * time.Minute)
	for range 3 {
		tr.end("a", errTest)
		tr.hears("a ends: test")
		tr.starting("a")
	}
	tr.end("a", errTest)
	tr.hears("a ends: test", "b"+bye)
	err = receive(t, "the supervisor's end", reason)
	require.ErrorIs(t, err, errTest)
	var intensity *process.IntensityError
	require.ErrorAs(t, err, &intensity)
	require.Equal(t, "a", intensity.Child)
}

// A limit of many restarts is one, too.
func TestAHighIntensity(t *testing.T) {
	for _, limit := range []int{1, 31, 32, 33, 64, 65, 1000} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			s := paused(t)
			starts, first := 0, make(chan process.PID, 1)
			top, err := process.Supervisor{Intensity: limit, Period: time.Hour, Children: []process.Child{{
				Name: "a",
				Start: func(at process.Starter, o process.Options) (process.PID, error) {
					starts++
					ref, err := process.Go(at, o, func(cx *sched.Context, self *process.Inbox[any]) error {
						switch {
						case starts == 1:
							return ends(cx, self)
						case starts > limit+10:
							return s.Cancel(at.(*process.Self).PID())
						default:
							return errTest
						}
					})
					if starts == 1 {
						first <- ref.PID()
					}
					return ref.PID(), err
				},
			}}}.Start(s, process.Options{})
			require.NoError(t, err)
			reason := reasonOf(t, s, top)
			require.NoError(t, s.TrySend(receive(t, "the first start", first), errTest))
			err = receive(t, "the supervisor's end", reason)
			var intensity *process.IntensityError
			require.ErrorAs(t, err, &intensity)
			require.Equal(t, 1+limit, starts)
		})
	}
}

func TestBackOffDoubles(t *testing.T) {
	s := paused(t)
	tr := newTroupe(t, s)
	_, err := process.Supervisor{Intensity: -1, Period: time.Hour, BackOff: time.Second, MaxBackOff: 4 * time.Second,
		Children: []process.Child{tr.child("a", process.Permanent), tr.child("b", process.Permanent)}}.Start(s, process.Options{})
	require.NoError(t, err)
	at := tr.starting("a", "b")
	for _, delay := range []time.Duration{1, 2, 4, 4} {
		tr.end("a", errTest)
		tr.hears("a ends: test")
		next := tr.starting("a")
		require.Equal(t, delay*time.Second, (next - at).Round(10*time.Millisecond))
		at = next
	}
}

// A back-off that is too long for a duration is the longest one, and not none.
func TestAVeryLongBackOff(t *testing.T) {
	const longest time.Duration = math.MaxInt64
	for name, sup := range map[string]process.Supervisor{
		"the longest one": {BackOff: longest, MaxBackOff: longest},
		"without a limit": {BackOff: longest / 32},
		"that doubles":    {BackOff: longest/2 + 1, MaxBackOff: longest},
	} {
		t.Run(name, func(t *testing.T) {
			s := paused(t)
			s.Runtime().Advance(time.Hour)
			tr := newTroupe(t, s)
			sup.Intensity, sup.Period = -1, longest
			sup.Children = []process.Child{tr.child("a", process.Permanent), tr.child("b", process.Permanent)}
			top, err := sup.Start(s, process.Options{})
			require.NoError(t, err)
			at := tr.starting("a", "b")
			for _, child := range []string{"a", "b"} {
				reason := reasonOf(t, s, tr.pids[child])
				tr.end(child, errTest)
				require.Equal(t, errTest, receive(t, "the end", reason)) // the supervisor has its event by now
				eventually(t, "the supervisor waits", func() bool { return s.Status(top) > process.Running })
			}
			require.NoError(t, s.Cancel(top))
			eventually(t, "all have ended", func() bool { return s.Len() == 0 })
			for len(tr.starts) > 0 {
				require.Greater(t, (<-tr.starts).at-at, longest/64)
			}
		})
	}
}

// Supervisors are children of supervisors. When a subtree gives up, its parent restarts it.
func TestATreeOfSupervisors(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		tr := newTroupe(t, s)
		sub := process.Supervisor{Intensity: 1, Children: []process.Child{tr.child("a", process.Permanent)}}
		top, err := process.Supervisor{Children: []process.Child{{Name: "sub", Start: sub.Start}, tr.child("b", process.Permanent)}}.Start(s, process.Options{})
		require.NoError(t, err)
		for range 2 {
			got := receive(t, "a start", tr.starts)
			tr.pids[got.name] = got.pid
		}
		tr.end("a", errTest)
		tr.hears("a ends: test")
		tr.starting("a")
		tr.end("a", errTest) // sub gives up, top restarts it
		tr.hears("a ends: test")
		tr.starting("a")
		eventually(t, "the first ones are no longer counted", func() bool { return s.Len() == 4 })
		require.NoError(t, s.Kill(top)) // links take all with it
		eventually(t, "all have ended", func() bool { return s.Len() == 0 })
	})
}

// A child that ignores its cancel event is killed after its grace period.
func TestAChildThatIgnoresItsCancelIsKilled(t *testing.T) {
	s := paused(t)
	var ignores process.PID
	began := make(chan struct{})
	start := func(at process.Starter, o process.Options) (process.PID, error) {
		pid, err := process.Start(at, &machine{step: func(_ []process.Event, out *process.StepOutput) error {
			if out.Status = process.Idle; began != nil {
				close(began)
				began = nil
			}
			return nil
		}}, o)
		ignores = pid
		return pid, err
	}
	running := began
	top, err := process.Supervisor{Children: []process.Child{{Name: "stubborn", Grace: time.Minute, Start: start}}}.Start(s, process.Options{})
	require.NoError(t, err)
	receive(t, "the child's first step", running)
	before := s.Runtime().Now()
	require.NoError(t, s.Cancel(top))
	eventually(t, "all have ended", func() bool { return s.Len() == 0 })
	require.GreaterOrEqual(t, s.Runtime().Now()-before, time.Minute)
	require.Equal(t, process.Complete, s.Status(ignores))
}

// A supervisor that cannot start its children ends those that it has started.
func TestAChildThatCannotBeStarted(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		tr := newTroupe(t, s)
		fails := process.Child{Name: "bad", Start: func(process.Starter, process.Options) (process.PID, error) { return process.PID{}, errTest }}
		reason := make(chan error, 1)
		spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
			self.TrapExits(true)
			_, err := process.Supervisor{Children: []process.Child{tr.child("a", process.Permanent), fails}}.Start(&self.Self, process.Options{Link: true})
			if err != nil {
				return err
			}
			ev, err := self.ReceiveEvent(cx)
			reason <- ev.Error
			return err
		})
		require.ErrorIs(t, receive(t, "the supervisor's end", reason), errTest)
		eventually(t, "all have ended", func() bool { return s.Len() == 0 })
	})
}

// A supervisor would not learn of the end of a child that is not linked to it.
func TestAChildThatIsNotLinked(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		for name, start := range map[string]func(at process.Starter, o process.Options) (process.PID, error){
			"at another starter": func(_ process.Starter, o process.Options) (process.PID, error) {
				ref, err := process.Go(s, o, ends)
				return ref.PID(), err
			},
			"with other options": func(at process.Starter, _ process.Options) (process.PID, error) {
				ref, err := process.Go(at, process.Options{}, ends)
				return ref.PID(), err
			},
			"with none": func(process.Starter, process.Options) (process.PID, error) { return process.PID{}, nil },
		} {
			t.Run(name, func(t *testing.T) {
				tr, reasons := newTroupe(t, s), make(chan error, 1)
				spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
					self.TrapExits(true)
					_, err := process.Supervisor{Children: []process.Child{tr.child("a", process.Permanent), {Name: "bad", Start: start}}}.Start(self, process.Options{Link: true})
					if err != nil {
						return err
					}
					ev, err := self.ReceiveEvent(cx)
					reasons <- ev.Error
					return err
				})
				err := receive(t, "the supervisor's end", reasons)
				require.ErrorContains(t, err, `"bad"`)
				require.ErrorContains(t, err, "with the Options that it is given")
				eventually(t, "all have ended", func() bool { return s.Len() == 0 })
			})
		}
	})
}

// The end of a child counts although the child has ended before Start has returned.
func TestAChildThatHasEndedAtItsStart(t *testing.T) {
	s := newSystem(t, 1, process.Config{})
	begin := make(chan struct{})
	ended := spawn(t, s, func(*sched.Context, *process.Inbox[any]) error { return nil })
	eventually(t, "the child has ended", func() bool { return s.Len() == 0 })
	top, err := process.Supervisor{Children: []process.Child{{Name: "a", Start: func(at process.Starter, _ process.Options) (process.PID, error) {
		<-begin
		at.(*process.Self).Link(ended)
		return ended, nil
	}}}}.Start(s, process.Options{})
	require.NoError(t, err)
	reason := reasonOf(t, s, top)
	close(begin)
	var intensity *process.IntensityError
	require.ErrorAs(t, receive(t, "the supervisor's end", reason), &intensity)
	require.Equal(t, process.ErrNoProcess, intensity.Err)
}

// A supervisor does not wait for the end of a child that has unlinked itself.
func TestAChildThatUnlinksItself(t *testing.T) {
	onEach(t, func(t *testing.T, s *process.System) {
		started, unlinked := make(chan process.PID, 1), make(chan struct{})
		top, err := process.Supervisor{Children: []process.Child{{Name: "a", Start: func(at process.Starter, o process.Options) (process.PID, error) {
			ref, err := process.Go(at, o, func(cx *sched.Context, self *process.Inbox[any]) error {
				_, err := self.Receive(cx)
				if err == nil {
					self.Unlink(at.(*process.Self).PID())
					close(unlinked)
					err = waits(cx, self)
				}
				return err
			})
			started <- ref.PID()
			return ref.PID(), err
		}}}}.Start(s, process.Options{})
		require.NoError(t, err)
		pid := receive(t, "the child", started)
		eventually(t, "the supervisor waits", func() bool { return s.Status(top) == process.Idle })
		require.NoError(t, s.TrySend(pid, "unlink"))
		receive(t, "the child has unlinked itself", unlinked)
		require.NoError(t, s.Cancel(top))
		eventually(t, "all have ended", func() bool { return s.Len() == 0 })
	})
}

// No child is restarted during a shutdown.
func TestShutdownOfATree(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		rt := sched.New(sched.Config{Workers: workers})
		s := process.New(process.Config{Runtime: rt})
		tr := newTroupe(t, s)
		var attempts atomic.Int32
		for range 10 {
			_, err := process.Supervisor{Children: []process.Child{{Name: "x", Start: func(at process.Starter, o process.Options) (process.PID, error) {
				attempts.Add(1)
				ref, err := process.Go(at, o, func(cx *sched.Context, self *process.Inbox[any]) error {
					tr.starts <- started{}
					return waits(cx, self)
				})
				return ref.PID(), err
			}}}}.Start(s, process.Options{})
			require.NoError(t, err)
		}
		for range 10 {
			receive(t, "a start", tr.starts)
		}
		require.NoError(t, s.Shutdown(context.Background()))
		require.Empty(t, tr.starts)
		require.EqualValues(t, 10, attempts.Load(), "nor does anybody try")
		require.NoError(t, rt.Close())
	}
}

// A child whose restarts fail does not keep a supervisor without a limit from being canceled.
func TestAChildWhoseRestartsFail(t *testing.T) {
	s := paused(t)
	starts := make(chan process.PID, 1)
	tries := make(chan struct{}, 1000)
	start := func(at process.Starter, o process.Options) (process.PID, error) {
		select {
		case tries <- struct{}{}:
		default:
		}
		if len(tries) > 1 {
			return process.PID{}, errTest
		}
		ref, err := process.Go(at, o, ends)
		starts <- ref.PID()
		return ref.PID(), err
	}
	top, err := process.Supervisor{Intensity: -1, Children: []process.Child{{Name: "a", Start: start}}}.Start(s, process.Options{})
	require.NoError(t, err)
	require.NoError(t, s.TrySend(receive(t, "the first start", starts), errTest))
	eventually(t, "there are many tries", func() bool { return len(tries) == cap(tries) })
	require.NoError(t, s.Cancel(top))
	eventually(t, "all have ended", func() bool { return s.Len() == 0 })
}
