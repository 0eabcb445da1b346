package process

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/mpsc"
	"github.com/suiro-go/suiro/internal/schedtest"
	"github.com/suiro-go/suiro/sched"
)

// full is a process with a full mailbox, in a system whose time is virtual.
func full(t *testing.T) (*System, *proc) {
	t.Helper()
	rt := sched.New(sched.Config{Workers: 1, Paused: true})
	s := New(Config{Runtime: rt, Grace: -1})
	t.Cleanup(func() {
		require.NoError(t, s.Shutdown(context.Background()))
		require.NoError(t, rt.Close())
	})
	ref, err := Go(s, Options{Mailbox: 1, Overflow: OverflowWait}, func(cx *sched.Context, self *Inbox[any]) error {
		_, err := self.ReceiveMatch(cx, func(ev *Event) bool { return ev.Data == "go on" || ev.Type == EventCancel })
		return err
	})
	require.NoError(t, err)
	require.NoError(t, ref.TrySend(0))
	return s, s.table.get(ref.PID())
}

// Senders that give up leave nothing behind.
func TestASenderThatGivesUpLeavesTheRoom(t *testing.T) {
	s, p := full(t)
	gaveUp := make(chan error, 1)
	_, err := Go(s, Options{}, func(cx *sched.Context, _ *Inbox[any]) error {
		for range 10 {
			if _, err := sched.Await[int](cx, sched.Timeout(time.Minute, CallFuture[int, int](s, p.pid, 1))); err != sched.ErrTimeout {
				t.Error(err)
			}
			_, err := sched.Await(cx, sched.Timeout(time.Minute, s.SendFuture(p.pid, 1)))
			if err != sched.ErrTimeout {
				t.Error(err)
			}
		}
		gaveUp <- nil
		return nil
	})
	require.NoError(t, err)
	schedtest.Receive(t, "the sender", gaveUp)

	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { gaveUp <- s.Send(ctx, p.pid, 1) }()
		schedtest.Eventually(t, "it waits", p.mailbox.Waiting)
		cancel()
		require.ErrorIs(t, schedtest.Receive(t, "the sender", gaveUp), context.Canceled)
	}
	require.False(t, p.mailbox.Waiting())
}

// A send that is given up takes no place but its own, though one task has both.
func TestTwoSendsOfOneTaskWaitForRoom(t *testing.T) {
	s, p := full(t)
	refused := make(chan error, 1)
	_, err := Go(s, Options{}, func(cx *sched.Context, _ *Inbox[any]) error {
		first, second := s.SendFuture(p.pid, 1), s.SendFuture(p.pid, 2)
		began := false
		_, err := sched.Await[struct{}](cx, sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
			if began {
				return second.Poll(cx)
			}
			began = true
			if _, err := first.Poll(cx); err != sched.ErrPending {
				t.Error(err)
			}
			_, err := second.Poll(cx)
			first.(sched.Canceler).Cancel()
			if !p.mailbox.Waiting() {
				t.Error("none waits")
			}
			p.kill(ErrKilled)
			return struct{}{}, err
		}))
		refused <- err
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, ErrNoProcess, schedtest.Receive(t, "the second send", refused))
}

// A name that is freed is no longer among those of its process.
func TestUnregisterForgetsTheName(t *testing.T) {
	s, p := full(t)
	require.NoError(t, s.Register("kept", p.pid))
	for range 10 {
		require.NoError(t, s.Register("a", p.pid))
		require.True(t, s.Unregister("a"))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Equal(t, []string{"kept"}, p.extras.names)
}

// To give up a name or to leave a group takes constant time, because each place is known.
func TestThePlacesOfNamesAndGroups(t *testing.T) {
	s, p := full(t)
	ref, err := Go(s, Options{}, func(cx *sched.Context, self *Inbox[any]) error {
		_, err := self.Receive(cx)
		return err
	})
	require.NoError(t, err)
	all := []*proc{p, s.table.get(ref.PID())}
	for range 2000 {
		name, of := fmt.Sprint(rand.IntN(20)), all[rand.IntN(2)]
		switch rand.IntN(4) {
		case 0:
			_ = s.Register(name, of.pid) // ErrNameTaken
		case 1:
			s.Unregister(name)
		case 2:
			require.NoError(t, s.JoinGroup(name, of.pid))
		default:
			s.LeaveGroup(name, of.pid)
		}
		names, memberships := 0, 0
		for _, of := range all {
			x := of.more()
			for i, name := range x.names {
				require.Equal(t, owner{of, i}, s.names.m[name])
			}
			for i, name := range x.groups {
				at, member := s.groups.m[name].places[of]
				require.True(t, member)
				require.Equal(t, i, at.group)
				require.Same(t, of, s.groups.m[name].members[at.member])
			}
			names += len(x.names)
			memberships += len(x.groups)
		}
		require.Len(t, s.names.m, names)
		for _, g := range s.groups.m {
			memberships -= len(g.members)
			require.Len(t, g.places, len(g.members))
		}
		require.Zero(t, memberships)
	}
}

// A function yields no commands. Completions that somebody gives it take no memory.
func TestAFunctionKeepsNoCompletions(t *testing.T) {
	s, _ := full(t)
	kept := make(chan bool, 1)
	ref, err := Go(s, Options{}, func(cx *sched.Context, self *Inbox[int]) error {
		for range 10 {
			if err := s.CompleteYield(self.PID(), 1, nil, nil); err != nil {
				return err
			}
		}
		_, err := self.Receive(cx)
		kept <- self.p.answers != nil
		return err
	})
	require.NoError(t, err)
	require.NoError(t, ref.Send(t.Context(), 1))
	require.False(t, schedtest.Receive(t, "the function has received", kept))
}

// The end of a process leaves nothing of it in the registry, in groups, and at the processes that
// it has monitored, called or awaited.
func TestAnEndLeavesNothing(t *testing.T) {
	s, p := full(t)
	ref, err := Go(s, Options{Name: "a"}, func(cx *sched.Context, self *Inbox[any]) error {
		self.Monitor(p.pid)
		self.Link(p.pid)
		_, err := self.Receive(cx)
		return err
	})
	require.NoError(t, err)
	require.NoError(t, s.JoinGroup("g", ref.PID()))
	waits := func(f func(ctx context.Context) error) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f(ctx) }()
		schedtest.Eventually(t, "it watches", func() bool { return watchers(p) > 1 })
		cancel()
		require.ErrorIs(t, schedtest.Receive(t, "the wait", ended), context.Canceled)
	}
	schedtest.Eventually(t, "it monitors", func() bool { return watchers(p) == 1 })
	waits(func(ctx context.Context) error {
		_, err := sched.Await(ctx, s.Done(p.pid))
		return err
	})
	require.Equal(t, 1, watchers(p))
	require.NoError(t, ref.Send(t.Context(), nil))
	schedtest.Eventually(t, "it has ended", func() bool { return s.Len() == 1 })
	require.Zero(t, watchers(p))
	p.mu.Lock()
	require.Empty(t, p.extras.links)
	p.mu.Unlock()
	require.Empty(t, s.names.m)
	require.Empty(t, s.groups.m)
}

func watchers(p *proc) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.extras == nil {
		return 0
	}
	return len(p.extras.watchers)
}

// A call that is given up or has its answer leaves nothing at the called process.
func TestACallLeavesNothing(t *testing.T) {
	s, _ := full(t)
	questions := make(chan *Request[int, int], 1)
	ref, err := Go(s, Options{}, func(cx *sched.Context, self *Inbox[*Request[int, int]]) error {
		for {
			q, err := self.Receive(cx)
			if err != nil {
				return err
			}
			questions <- q
		}
	})
	require.NoError(t, err)
	p := s.table.get(ref.PID())
	for _, answered := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := Call[int, int](ctx, s, ref.PID(), 1)
			ended <- err
		}()
		schedtest.Eventually(t, "it waits", func() bool { return watchers(p) == 1 })
		if q := schedtest.Receive(t, "the question", questions); answered {
			q.Reply(2)
			require.NoError(t, schedtest.Receive(t, "the call", ended))
		}
		cancel()
		if !answered {
			require.ErrorIs(t, schedtest.Receive(t, "the call", ended), context.Canceled)
		}
		require.Zero(t, watchers(p))
	}
}

// After a Demonitor and an Unlink there is no event, even if it was in the mailbox.
func TestEventsThatHaveComeAreForgotten(t *testing.T) {
	s, _ := full(t)
	results := make(chan any, 2)
	_, err := Go(s, Options{}, func(cx *sched.Context, self *Inbox[any]) error {
		self.TrapExits(true)
		for _, link := range []bool{false, true} {
			other, err := Go(self, Options{Link: link}, func(cx *sched.Context, self *Inbox[any]) error {
				_, err := self.Receive(cx)
				return err
			})
			if err != nil {
				return err
			}
			tag := uint64(0)
			if !link {
				tag = self.Monitor(other.PID())
			}
			if err := other.Send(cx, nil); err != nil {
				return err
			}
			for came := false; !came; {
				_, err := sched.Await[Event](cx, sched.Timeout(time.Millisecond, self.ReceiveMatchFuture(func(ev *Event) bool {
					came = came || ev.Type == EventDown || ev.Type == EventExit
					return false
				})))
				if err != sched.ErrTimeout {
					return err
				}
			}
			self.Demonitor(tag)
			self.Unlink(other.PID())
			if err := self.TrySend(self.PID(), "next"); err != nil {
				return err
			}
			ev, err := self.ReceiveEvent(cx)
			if err != nil {
				return err
			}
			results <- ev.Data
		}
		return nil
	})
	require.NoError(t, err)
	for range 2 {
		require.Equal(t, "next", schedtest.Receive(t, "an event", results))
	}
}

// A blocked process that is woken without an answer takes none of its messages.
func TestABlockedProcessThatIsWokenForNothing(t *testing.T) {
	s, _ := full(t)
	b := &blocks{commands: make(chan struct{}, 1), got: make(chan []Event, 1)}
	OnCommand(s, func(PID, uint64, struct{}) { b.commands <- struct{}{} })
	pid, err := Start(s, b, Options{})
	require.NoError(t, err)
	schedtest.Receive(t, "the command", b.commands)
	p := s.table.get(pid)
	require.NoError(t, s.Send(t.Context(), pid, "a message"))
	schedtest.Eventually(t, "it is blocked", func() bool { return s.Status(pid) == Blocked })
	polled := s.rt.Stats().Total.Polled
	if p.state.Notify(mpsc.Answer) { // for an answer that an earlier run has taken
		p.rouse(nil)
	}
	schedtest.Eventually(t, "it has run", func() bool { return s.rt.Stats().Total.Polled > polled && s.Status(pid) == Blocked })
	require.NoError(t, s.CompleteYield(pid, 1, nil, nil))
	events := schedtest.Receive(t, "the second step", b.got)
	require.Len(t, events, 2)
	require.Equal(t, EventYield, events[0].Type)
}

// blocks is a process that yields one command, and ends with the next step.
type blocks struct {
	commands chan struct{}
	got      chan []Event
	began    bool
}

func (b *blocks) Init(context.Context, string, any) error { return nil }
func (b *blocks) Close()                                  {}

func (b *blocks) Step(events []Event, out *StepOutput) error {
	if out.Status = Blocked; b.began {
		b.got <- slices.Clone(events)
		out.Status = Complete
		return nil
	}
	b.began = true
	out.Yield(1, struct{}{})
	return nil
}

// An idle process costs this, its slot of the table, and what the user keeps.
func TestAProcessIsSmall(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		require.LessOrEqual(t, unsafe.Sizeof(stepper{}), uintptr(256), "a size class of Go's allocator")
		require.LessOrEqual(t, unsafe.Sizeof([slabNodes]node{})+8, uintptr(1536), "a size class, with the allocator's own header")
	}
}

// A quiet is a process that ignores what it gets.
type quiet struct{}

func (quiet) Init(context.Context, string, any) error { return nil }

func (quiet) Step(_ []Event, out *StepOutput) error {
	out.Status = Idle
	return nil
}

func (quiet) Close() {}

// A process that has received all its messages keeps none of their nodes.
func TestAnIdleProcessKeepsNoNodes(t *testing.T) {
	s, _ := full(t)
	pid, err := Start(s, quiet{}, Options{})
	require.NoError(t, err)
	p := s.table.get(pid)
	for range 200 {
		require.NoError(t, s.TrySend(pid, 1))
	}
	kept := true
	schedtest.Eventually(t, "all are received", func() bool {
		return p.mailbox.Len() == 0 && s.cfg.Runtime.Inspect(&p.task, func() { kept = p.pending != nil || p.latest != nil })
	})
	require.False(t, kept)
}
