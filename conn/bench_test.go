package conn

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/receive"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// BenchmarkPassage is what a message of 64 bytes that is echoed costs outside the kernel and the
// reactor: from the completion of its receive to the submission of the send. The reactor makes no
// system calls; each of its polls brings one message for each connection, perPoll at most. Told at
// once: what became of a send is known when it is submitted, as on epoll; told later: by the next
// poll, as on io_uring.
func BenchmarkPassage(b *testing.B) {
	for _, told := range []string{"at once", "later"} {
		for _, conns := range []int{50, 1000} {
			b.Run(fmt.Sprintf("told %s/%d connections", told, conns), func(b *testing.B) {
				r := newScripted(b, conns, make([]byte, 64), told == "later")
				b.ReportAllocs()
				b.ResetTimer()
				r.exchange(b.N)
			})
			b.Run(fmt.Sprintf("told %s/%d streams", told, conns), func(b *testing.B) {
				r := newScriptedFor(b, Config{}, Sequential(echoStream), conns, make([]byte, 64), told == "later")
				b.ReportAllocs()
				b.ResetTimer()
				r.exchange(b.N)
			})
		}
	}
}

// echoStream is echoBack as a sequential function, without a buffer of its own.
func echoStream(_ *sched.Context, s *Stream) error {
	for {
		p, err := s.Peek(-1)
		if err != nil {
			return err
		}
		if _, err = s.Next(len(p)); err != nil {
			return err
		}
		if _, err = s.Write(p); err != nil {
			return err
		}
	}
}

// BenchmarkPassageThroughASplice is the same of a message that a splice passes on, on a reactor
// that tells later.
func BenchmarkPassageThroughASplice(b *testing.B) {
	for _, conns := range []int{50, 1000} {
		b.Run(fmt.Sprintf("%d connections", conns), func(b *testing.B) {
			r := newScripted(b, conns, make([]byte, 64), true)
			spliced := make(chan error, conns/2)
			for i := 0; i < conns; i += 2 {
				to := r.conns[i+1].Handle()
				require.NoError(b, r.conns[i].Handle().Do(func(c *core.Conn) {
					_, err := splice(c, to, nil)
					spliced <- err
				}))
			}
			for range conns / 2 {
				require.NoError(b, <-spliced)
			}
			r.exchange(conns) // so that both ends of each have looked
			b.ReportAllocs()
			b.ResetTimer()
			r.exchange(b.N)
		})
	}
}

// A scripted reactor receives the same message on one connection after the other, and sends
// whatever it is given.
type scripted struct {
	reactor.Reactor
	message []byte
	later   bool
	refuses bool // sends
	conns   []*core.Conn

	receiving []reactor.Token
	turn      int
	sent      []reactor.Completion
	noWait    []bool // of each send, if not nil
	left      int    // messages still to come
	asking    bool   // and somebody waits for the end of that
	asked     chan int
	done      chan struct{}
	wake      chan struct{}
}

func newScripted(b testing.TB, conns int, message []byte, later bool) *scripted {
	return newScriptedFor(b, Config{}, echoBack{}, conns, message, later)
}

func newScriptedFor(b testing.TB, cfg Config, h Handler, conns int, message []byte, later bool) *scripted {
	r := &scripted{message: message, later: later, asked: make(chan int), done: make(chan struct{}), wake: make(chan struct{}, 1)}
	g, err := NewGroup(cfg, sched.Config{Workers: 1})
	require.NoError(b, err)
	g.core.Reads, g.core.ReadsFirst = receive.Policy{}, false // the reactor receives
	g.core.Completes, g.core.SendsFirst = later, false        // no connection has a descriptor
	g.core.Runtime = sched.New(sched.Config{Workers: 1, NewDriver: func(worker int) (sched.Driver, error) {
		if worker > 0 { // a spare, if the machine leaves the only one no time
			return nil, errors.ErrUnsupported
		}
		return core.DriverFor(&g.core, worker, r), nil
	}})
	g.core.Engine.RT = g.core.Runtime
	require.NoError(b, g.core.Runtime.Start())
	b.Cleanup(func() { require.NoError(b, g.Close()) })
	for range conns {
		c := core.NewConn(&g.core, -1, h)
		c.SetPeer(netip.AddrPortFrom(netip.IPv6Loopback(), 1))
		c.Attach(nil, 0)
		c.Task.Wake()
		r.conns = append(r.conns, c)
	}
	r.exchange(conns) // so that all receive
	return r
}

// exchange receives and answers n messages.
func (r *scripted) exchange(n int) {
	r.asked <- n
	<-r.done
}

func (r *scripted) Submit(op *reactor.Op) error {
	if op.Kind == reactor.Send && r.noWait != nil {
		r.noWait = append(r.noWait, op.NoWait)
	}
	switch {
	case op.Kind == reactor.Send && r.refuses:
		return errors.New("refused")
	case op.Kind == reactor.Recv:
		r.receiving = append(r.receiving, op.Token)
	case op.Kind == reactor.Send && r.later:
		op.Sent = 0
		r.sent = append(r.sent, reactor.Completion{Token: op.Token, Kind: reactor.Send, Res: len(op.Buf)})
	case op.Kind == reactor.Send:
		op.Sent = len(op.Buf)
	}
	return nil
}

func (r *scripted) Poll(out []reactor.Completion, wait time.Duration, _ bool) (int, error) {
	n := copy(out, r.sent)
	r.sent = r.sent[:copy(r.sent, r.sent[n:])]
	for most := min(len(out), n+len(r.receiving)); n < most && r.left > 0; n++ {
		r.turn++
		r.left--
		out[n] = reactor.Completion{
			Token: r.receiving[r.turn%len(r.receiving)], Kind: reactor.Recv, More: true,
			Res: len(r.message), Buf: reactor.Buffer{Bytes: r.message},
		}
	}
	if n > 0 || wait == 0 {
		return n, nil
	}
	if r.asking {
		r.done <- struct{}{}
		r.asking = false
	}
	var end <-chan time.Time
	if wait > 0 {
		end = time.After(wait)
	}
	select {
	case r.left = <-r.asked:
		r.asking = true
	case <-r.wake:
	case <-end:
	}
	return 0, nil
}

func (r *scripted) Release(reactor.Buffer) {}

func (r *scripted) Carrier(reactor.Reactor) reactor.Reactor { return r }

func (r *scripted) Wake() error {
	select {
	case r.wake <- struct{}{}:
	default: // one is on its way
	}
	return nil
}

func (r *scripted) Close() error { return nil }

type echoBack struct{ Base }

func (echoBack) OnData(u *Conn) error {
	c := &u.core
	p, _ := c.Next(-1)
	_, err := c.Write(p)
	return err
}
