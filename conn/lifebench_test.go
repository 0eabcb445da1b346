package conn

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/suiro-go/suiro/internal/accept"
	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/placement"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// BenchmarkLife is what a connection's life costs outside of the kernel: it is accepted, its first
// run sends, the peer ends it, and it is closed. The reactor makes no system call, so the figure is
// steady to about a hundredth.
func BenchmarkLife(b *testing.B) {
	r := &lives{left: b.N, over: make(chan struct{}), wake: make(chan struct{}, 1)}
	g := stubGroup(b, r)
	l := &Listener{group: g, handler: speaksFirst{}, worker: AnyWorker}
	l.socket.Owner, l.socket.Worker, l.socket.Addr = (*listenerOwner)(l), AnyWorker, new(net.TCPAddr)
	l.socket.Init(&g.accepts, -1)
	if err := l.socket.Start(); err != nil {
		b.Fatal(err)
	}
	r.listener = l.socket.State().Token
	b.ReportAllocs()
	b.ResetTimer()
	if err := g.core.Runtime.Start(); err != nil {
		b.Fatal(err)
	}
	<-r.over
	b.StopTimer()
	if n := g.Len(); n != 0 || r.closed != b.N {
		b.Errorf("%d connections are left, and of %d %d were closed", n, b.N, r.closed)
	}
	if err := g.Close(); err != nil {
		b.Error(err)
	}
}

// stubGroup is a group of one worker with that reactor.
func stubGroup(b *testing.B, r reactor.Reactor) *Group {
	cfg, err := Config{}.withDefaults()
	if err != nil {
		b.Fatal(err)
	}
	g := &Group{}
	g.core.Config, g.core.Events, g.core.Owner = cfg.settings(), &events{}, g
	g.core.Placement = placement.New(placement.RoundRobin, 1, &g.core.Engine)
	g.core.Runtime = sched.New(sched.Config{Workers: 1, Spares: -1, NewDriver: func(worker int) (sched.Driver, error) {
		return core.DriverFor(&g.core, worker, r), nil
	}})
	g.core.Engine.RT, g.core.Engine.Logger = g.core.Runtime, cfg.Logger
	g.accepts = accept.Group{Engine: &g.core.Engine, Limits: &g.core.Limits}
	return g
}

// A speaksFirst sends something to every client that connects.
type speaksFirst struct{ Base }

var message [64]byte

func (speaksFirst) OnOpen(u *Conn) error {
	c := &u.core
	_, err := c.Write(message[:])
	return err
}

func (speaksFirst) OnData(*Conn) error { return nil }

// livesAtOnce is how many come, and end, with one Poll: about as many as in the workload churn.
const livesAtOnce = 4

// lives is a reactor of connections that come, take what they are sent, and go, livesAtOnce at a
// time. All of it is the worker's.
type lives struct {
	listener     reactor.Token
	left, closed int // to be accepted; and those that have been closed
	ending       []reactor.Token
	over         chan struct{} // closed when all have been
	wake         chan struct{}
}

func (r *lives) Name() string                             { return "stub" }
func (r *lives) Carrier(reactor.Reactor) reactor.Reactor  { return r }
func (r *lives) Rescue([]reactor.Completion) (int, error) { return 0, nil }
func (r *lives) Release(reactor.Buffer)                   {}
func (r *lives) Close() error                             { return nil }

func (r *lives) Wake() error {
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return nil
}

func (r *lives) Submit(op *reactor.Op) error {
	switch op.Kind {
	case reactor.Send:
		op.Sent = len(op.Buf)
	case reactor.Recv:
		r.ending = append(r.ending, op.Token)
	case reactor.Close:
		r.closed++
	}
	return nil
}

func (r *lives) Poll(out []reactor.Completion, wait time.Duration, _ bool) (n int, _ error) {
	if wait == 0 { // as the kernel has nothing new so soon
		return 0, nil
	}
	for _, token := range r.ending {
		out[n] = reactor.Completion{Token: token, Kind: reactor.Recv}
		n++
	}
	r.ending = r.ending[:0]
	for range min(r.left, livesAtOnce) {
		out[n] = reactor.Completion{Token: r.listener, Kind: reactor.Accept, More: true, Res: 1 << 20, Peer: peer}
		n++
		r.left--
	}
	if n == 0 {
		select {
		case <-r.over:
		default:
			close(r.over)
		}
		<-r.wake
	}
	return n, nil
}

var peer = netip.MustParseAddrPort("127.0.0.1:4711")
