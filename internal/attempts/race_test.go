package attempts

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/schedtest"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// The outcome of an attempt.
type fate int

const (
	silent  fate = iota // nothing, until it is canceled
	answers             // it is connected
	refused             // it ends with ECONNREFUSED
	crosses             // it is silent, but connected when it is canceled: the two cross
	full                // the reactor does not take it
)

// A network is a reactor on which the fate of an attempt is that of its port.
type network struct {
	reactor.Reactor
	fates   map[int]fate
	flying  map[reactor.Token]int
	arrived []reactor.Completion // until they are delivered
	closed  []int                // not yet, so that no descriptor comes twice
}

func (n *network) Submit(op *reactor.Op) error {
	switch op.Kind {
	case reactor.Connect:
		port := op.Addr.(*net.TCPAddr).Port
		if n.fates[port] == full {
			return reactor.ErrClosed
		}
		switch n.flying[op.Token] = port; n.fates[port] {
		case answers:
			n.ends(op.Token, 0)
		case refused:
			n.ends(op.Token, -int(syscall.ECONNREFUSED))
		}
	case reactor.Cancel:
		port, flies := n.flying[op.Token]
		switch {
		case flies && n.fates[port] == crosses:
			n.ends(op.Token, 0)
		case flies:
			n.ends(op.Token, -int(syscall.ECANCELED))
		}
	case reactor.Close:
		n.closed = append(n.closed, op.FD)
	}
	return nil
}

func (n *network) ends(token reactor.Token, res int) {
	delete(n.flying, token)
	n.arrived = append(n.arrived, reactor.Completion{Kind: reactor.Connect, Token: token, Res: res})
}

// A dialer is an owner that records all calls.
type dialer struct {
	group  engine.Group
	driver engine.Driver
	net    network
	task   sched.Task
	poller sched.Task // delivers completions
	alarm  alarm.Alarm
	race   *Race
	end    time.Duration
	quits  func(log string) bool // nil: never

	told      []func()
	over      bool
	connected int // the descriptor
	fds       []int
	log       strings.Builder
	done      chan struct{}
}

func (o *dialer) note(format string, args ...any) { fmt.Fprintf(&o.log, format+"\n", args...) }

func port(addr net.Addr) int { return addr.(*net.TCPAddr).Port }

func (o *dialer) Wants() bool { return !o.over }
func (o *dialer) Connected(fd int, at *engine.Driver, addr net.Addr) {
	o.connected = fd
	o.note("connected by %d, at its driver: %v", port(addr), at == &o.driver)
}
func (o *dialer) Lost(err error) { o.over = true; o.note("lost: %v", err) }
func (o *dialer) Call(f func())  { f() }
func (o *dialer) Tell(f func())  { o.told = append(o.told, f); o.task.Wake() }

func (o *dialer) Runner() *sched.Task { return &o.task }

type poll dialer

func (o *poll) Run(cx *sched.Context) (done bool) {
	o.driver.Cx = cx
	arrived := o.net.arrived
	o.net.arrived = nil
	for i := range arrived {
		o.group.Table.Get(arrived[i].Token).Target.Deliver(&o.driver, &arrived[i])
	}
	return false
}

// Run does with a race as its comment says.
func (o *dialer) Run(cx *sched.Context) (done bool) {
	told := o.told
	o.told = nil
	over := o.race.Reap(&o.driver)
	for _, f := range told {
		f()
	}
	if !over && !o.over {
		o.race.StartDue(&o.driver, o.end)
		o.over = o.over || o.quits != nil && o.quits(o.log.String())
	}
	if (over || o.over) && o.race.Stop(&o.driver) {
		o.alarm.Stop(o.group.RT)
		close(o.done)
		return true
	}
	if len(o.net.arrived) > 0 {
		cx.Wake(o.poller.Waker())
	}
	o.alarm.Set(o.group.RT, o.race.Wake(), o.task.Waker())
	return false
}

func addrs(ports ...int) (all []net.Addr) {
	for _, p := range ports {
		all = append(all, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: p})
	}
	return all
}

// run makes a dialer run its race to the end, and returns the recorded calls.
func (o *dialer) run(t *testing.T, cfg Config) string {
	rt := schedtest.Start(t, sched.Config{Workers: 1, Paused: true})
	o.group.RT, o.connected, o.done = rt, -1, make(chan struct{})
	o.net.flying = map[reactor.Token]int{}
	o.driver.Init(&o.group, 0, &o.net)
	cfg.Attempt = func(addr net.Addr) func(error) {
		o.note("%d begins at %v", port(addr), rt.Now().Round(10*time.Millisecond))
		return func(err error) {
			var errno syscall.Errno
			switch {
			case err == nil:
				o.note("%d is the connection", port(addr))
			case errors.Is(err, net.ErrClosed):
				o.note("%d is given up", port(addr))
			case errors.Is(err, os.ErrDeadlineExceeded):
				o.note("%d is too slow", port(addr))
			case errors.As(err, &errno):
				o.note("%d fails", port(addr))
			default:
				o.note("%d: %v", port(addr), err)
			}
		}
	}
	cfg.Control = func(_, _ string, raw syscall.RawConn) error {
		o.fds = append(o.fds, int(raw.(sock.Raw)))
		return nil
	}
	o.task.Init(rt, o)
	o.poller.Init(rt, (*poll)(o))
	o.race = New(&o.group, o, cfg)
	o.task.Wake()
	schedtest.Receive(t, "the race ends", o.done)
	open := slices.Clone(o.fds)
	for _, fd := range o.net.closed {
		require.Contains(t, open, fd, "it is closed twice")
		open = slices.DeleteFunc(open, func(other int) bool { return other == fd })
	}
	if o.connected >= 0 {
		require.Equal(t, []int{o.connected}, open)
	} else {
		require.Empty(t, open)
	}
	for _, fd := range o.fds {
		sock.Close(fd)
	}
	for e := range o.group.Table.All() {
		t.Errorf("%v is left in the table", e)
	}
	return strings.TrimSuffix(o.log.String(), "\n")
}

func lines(all ...string) string { return strings.Join(all, "\n") }

func TestARaceHasOneWinnerAndClosesTheOthers(t *testing.T) {
	for name, c := range map[string]struct {
		fates map[int]fate
		ports []int
		delay time.Duration
		end   time.Duration
		want  string
	}{
		"the first": {
			fates: map[int]fate{1: answers}, ports: []int{1, 2},
			want: lines("1 begins at 0s", "connected by 1, at its driver: true", "1 is the connection"),
		},
		"after a refusal": {
			fates: map[int]fate{1: refused, 2: answers}, ports: []int{1, 2},
			want: lines("1 begins at 0s", "1 fails", "2 begins at 0s", "connected by 2, at its driver: true", "2 is the connection"),
		},
		"after a delay": {
			fates: map[int]fate{2: answers}, ports: []int{1, 2, 3},
			want: lines("1 begins at 0s", "2 begins at 250ms", "connected by 2, at its driver: true", "2 is the connection", "1 is given up"),
		},
		"two are connected": {
			fates: map[int]fate{1: crosses, 2: answers}, ports: []int{1, 2},
			want: lines("1 begins at 0s", "2 begins at 250ms", "connected by 2, at its driver: true", "2 is the connection", "1 is given up"),
		},
		"the reactor refuses one": {
			fates: map[int]fate{1: full, 2: answers}, ports: []int{1, 2},
			want: lines("1 begins at 0s", "1 is given up", "2 begins at 0s", "connected by 2, at its driver: true", "2 is the connection"),
		},
		"one after the other": {
			fates: map[int]fate{2: answers}, ports: []int{1, 2}, delay: -1, end: 10 * time.Second,
			want: lines("1 begins at 0s", "1 is too slow", "2 begins at 5s", "connected by 2, at its driver: true", "2 is the connection"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := dialer{net: network{fates: c.fates}, end: c.end}
			require.Equal(t, c.want, o.run(t, Config{Addrs: addrs(c.ports...), Target: addrs(9)[0], Delay: c.delay}))
		})
	}
}

func TestARaceIsLostWhenAllAttemptsHaveFailed(t *testing.T) {
	o := dialer{net: network{fates: map[int]fate{1: refused, 2: full}}}
	log := o.run(t, Config{Addrs: addrs(1, 2), Target: addrs(9)[0]})
	require.Contains(t, log, lines("1 begins at 0s", "1 fails", "2 begins at 0s", "2 is given up", "lost: dial tcp 127.0.0.1:9: 127.0.0.1:1: "))

	var none dialer
	log = none.run(t, Config{Target: addrs(9)[0]})
	require.Equal(t, "lost: dial tcp 127.0.0.1:9: "+ErrNoAddrs.Error(), log)
}

func TestWhoWantsNoWinnerHasNone(t *testing.T) {
	for name, fates := range map[string]map[int]fate{
		"canceled in time": {1: silent, 2: silent},
		"canceled late":    {1: crosses, 2: crosses},
	} {
		t.Run(name, func(t *testing.T) {
			o := dialer{net: network{fates: fates}}
			o.quits = func(log string) bool { return strings.Contains(log, "2 begins") }
			canceled := 0
			log := o.run(t, Config{Addrs: addrs(1, 2), Target: addrs(9)[0], Find: func(func([]net.Addr, error)) func() {
				return func() { canceled++ }
			}})
			require.Equal(t, lines("1 begins at 0s", "2 begins at 250ms", "1 is given up", "2 is given up"), log)
			require.Equal(t, 1, canceled, "Find is canceled once")
		})
	}
}

func TestFindBringsTheAddresses(t *testing.T) {
	errFind := errors.New("no such host")
	for name, c := range map[string]struct {
		addrs []net.Addr // known before
		found []net.Addr
		err   error
		want  string
	}{
		"one that answers": {found: addrs(1), want: lines("1 begins at 0s", "connected by 1, at its driver: true", "1 is the connection")},
		"none":             {want: "lost: dial tcp 127.0.0.1:9: " + ErrNoAddrs.Error()},
		"an error":         {err: errFind, want: "lost: dial tcp: no such host"},
		"an error of its own": {err: &net.OpError{Op: "dial", Net: "udp", Err: errFind},
			want: "lost: dial udp: no such host"},
		"too late": {addrs: addrs(1), err: errFind,
			want: lines("1 begins at 0s", "connected by 1, at its driver: true", "1 is the connection")},
	} {
		t.Run(name, func(t *testing.T) {
			o := dialer{net: network{fates: map[int]fate{1: answers}}}
			canceled := 0
			log := o.run(t, Config{Addrs: c.addrs, Target: addrs(9)[0], Find: func(found func([]net.Addr, error)) func() {
				found(c.found, c.err)
				found(nil, errors.New("a second answer"))
				return func() { canceled++ }
			}})
			require.Equal(t, c.want, log)
			require.Equal(t, 1, canceled)
		})
	}
}
