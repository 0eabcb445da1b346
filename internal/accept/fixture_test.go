package accept

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/admission"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/membudget"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A fixture is a Socket on the only worker of a group. The test is its kernel: it sees each
// operation and says what completes.
type fixture struct {
	*Socket
	t     *testing.T
	group *Group

	ops       chan reactor.Op
	completed chan reactor.Completion
	woken     chan struct{}

	begun  chan int           // descriptors that the owner has got
	pauses chan time.Duration // that the log tells of
}

func newFixture(t *testing.T, limits *admission.Limits, memory *membudget.Budget, backlog int) *fixture {
	return newFixtureOn(t, listening, limits, memory, backlog)
}

func newFixtureOn(t *testing.T, fd int, limits *admission.Limits, memory *membudget.Budget, backlog int) *fixture {
	f := &fixture{Socket: new(Socket), t: t, ops: make(chan reactor.Op, 16), completed: make(chan reactor.Completion, 16),
		woken: make(chan struct{}, 1), begun: make(chan int, 16), pauses: make(chan time.Duration, 16)}
	e := &engine.Group{Config: engine.Config{Logger: slog.New(f)}}
	e.RT = sched.New(sched.Config{Workers: 1, NewDriver: func(worker int) (sched.Driver, error) {
		d := new(engine.Driver)
		d.Init(e, worker, kernel{f})
		return d, nil
	}})
	f.group = &Group{Engine: e, Limits: limits, Memory: memory}
	f.Owner, f.Addr, f.Worker, f.Backlog = f, new(net.TCPAddr), -1, backlog
	f.Init(f.group, fd)
	require.NoError(t, e.RT.Start())
	t.Cleanup(func() { require.NoError(t, e.RT.Close()) })
	return f
}

// The descriptor that accepts. Those that tests name are counted from it on. No process has so
// many, so a refusal closes no file of this one.
const listening = 1 << 24

var somebody = netip.MustParseAddrPort("192.0.2.1:4711")

func (f *fixture) Begin(_ *engine.Driver, a Accepted) { f.begun <- a.FD - listening }

func (f *fixture) Shed() { f.t.Error("a connection is reset") }

// next is the next operation, which is to be of that kind.
func (f *fixture) next(kind reactor.Kind) reactor.Op {
	f.t.Helper()
	op := conntest.Receive(f.t, f.ops)
	require.Equal(f.t, kind, op.Kind)
	if kind != reactor.Close {
		require.Equal(f.t, f.State().Token, op.Token)
	}
	return op
}

// complete completes the Accept, with a descriptor or an error; more: it goes on.
func (f *fixture) complete(res int, more bool) {
	if res > 0 {
		res += listening
	}
	f.completed <- reactor.Completion{Token: f.State().Token, Kind: reactor.Accept, Res: res, More: more, Peer: somebody}
	_ = kernel{f}.Wake()
}

// closes has the Socket closed, which has an Accept in flight.
func (f *fixture) closes() {
	f.t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- f.Close() }()
	require.Equal(f.t, reactor.Accept, f.next(reactor.Cancel).Target)
	f.complete(-int(syscall.ECANCELED), false)
	require.Equal(f.t, listening, f.next(reactor.Close).FD)
	require.NoError(f.t, conntest.Receive(f.t, closed))
	require.NoError(f.t, f.group.Wait(context.Background()))
	require.Nil(f.t, f.group.Engine.Table.Get(f.State().Token))
}

// A kernel is the fixture's reactor.
type kernel struct{ *fixture }

func (kernel) Name() string                                 { return "test" }
func (k kernel) Carrier(reactor.Reactor) reactor.Reactor    { return k }
func (kernel) Rescue([]reactor.Completion) (int, error)     { return 0, nil }
func (kernel) Release(reactor.Buffer)                       {}
func (kernel) Close() error                                 { return nil }
func (k kernel) Submit(op *reactor.Op) error                { k.ops <- *op; return nil }
func (f *fixture) Enabled(context.Context, slog.Level) bool { return true }
func (f *fixture) WithAttrs([]slog.Attr) slog.Handler       { return f }
func (f *fixture) WithGroup(string) slog.Handler            { return f }

func (k kernel) Wake() error {
	select {
	case k.woken <- struct{}{}:
	default:
	}
	return nil
}

func (k kernel) Poll(out []reactor.Completion, wait time.Duration, _ bool) (int, error) {
	if wait != 0 && len(k.completed) == 0 {
		var late <-chan time.Time
		if wait > 0 {
			late = time.After(wait)
		}
		select {
		case <-k.woken:
		case <-late:
		}
	}
	select {
	case out[0] = <-k.completed:
		return 1, nil
	default:
		return 0, nil
	}
}

// Handle implements slog.Handler: it notes how long a Socket pauses.
func (f *fixture) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "in" {
			f.pauses <- a.Value.Duration()
		}
		return true
	})
	return nil
}
