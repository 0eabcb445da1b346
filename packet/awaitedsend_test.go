package packet

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A recording is a reactor that records the sends of datagrams. If it holds, it keeps the first one
// until the reactor is woken: so may a Poll do with a send that nothing waits for.
type recording struct {
	reactor.Reactor
	holds bool

	mu     sync.Mutex
	noWait []bool
	kept   *reactor.Op
	woken  bool
}

func (r *recording) Submit(op *reactor.Op) error {
	if op.Kind != reactor.SendTo {
		return r.Reactor.Submit(op)
	}
	r.mu.Lock()
	r.noWait = append(r.noWait, op.NoWait)
	keeps := r.holds && len(r.noWait) == 1
	if keeps {
		kept := *op
		r.kept, r.woken, op.Sent = &kept, false, 0
	}
	r.mu.Unlock()
	if keeps {
		return nil
	}
	return r.Reactor.Submit(op)
}

func (r *recording) Wake() error {
	r.mu.Lock()
	r.woken = true
	r.mu.Unlock()
	return r.Reactor.Wake()
}

func (r *recording) Poll(out []reactor.Completion, wait time.Duration, hold bool) (int, error) {
	r.mu.Lock()
	kept := r.kept
	if r.woken {
		r.kept = nil
	} else {
		kept = nil
	}
	r.mu.Unlock()
	if kept != nil {
		if err := r.Reactor.Submit(kept); err != nil {
			return 0, err
		}
		if kept.Sent > 0 { // the backend sends at once
			out[0] = reactor.Completion{Token: kept.Token, Kind: reactor.SendTo, Res: kept.Sent}
			return 1, nil
		}
	}
	return r.Reactor.Poll(out, wait, hold)
}

func (r *recording) flags() []bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.noWait
}

// answering calls a function for each batch.
type answering struct {
	Base
	answer func(c *Conn, to netip.AddrPort)
	closed chan struct{}
}

func (a answering) OnClose(*Conn, error) { close(a.closed) }

func (a answering) OnPackets(c *Conn, batch []Packet) error {
	for _, p := range batch {
		a.answer(c, p.From)
	}
	return nil
}

// recorded listens on a group with one worker, whose reactor is recorded. It returns a client.
func recorded(t *testing.T, backend string, holds bool, answer func(c *Conn, to netip.AddrPort)) (*recording, net.Conn) {
	g, err := conn.NewGroup(conn.Config{Reactor: reactor.Config{Backend: backend}}, sched.Config{Workers: 1})
	require.NoError(t, err)
	e := engine.Reveal(g)
	r := &recording{holds: holds}
	e.RT = sched.New(sched.Config{Workers: 1, AnyThread: !reactor.NeedsThread(backend), NewDriver: func(worker int) (sched.Driver, error) {
		if worker > 0 { // a spare, if the machine leaves the only one no time
			return nil, errors.ErrUnsupported
		}
		real, err := reactor.Open(e.Config.Reactor)
		if err != nil {
			return nil, err
		}
		r.Reactor = real
		d := new(engine.Driver)
		d.Init(e, worker, r)
		e.Drivers[worker].Store(d)
		return d, nil
	}})
	pc, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer pc.Close()
	closed := make(chan struct{})
	h, err := Listen(g, pc, answering{answer: answer, closed: closed})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = h.Abort() // it may have ended
		conntest.Receive(t, closed)
		require.NoError(t, e.RT.Close())
		require.NoError(t, g.Close())
	})
	c, err := net.Dial("udp", pc.LocalAddr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
	return r, c
}

func write(t *testing.T, c *Conn, to netip.AddrPort) { require.NoError(t, c.WriteTo([]byte("a"), to)) }

// A Poll that holds does not return for the end of a send with NoWait, so nothing may wait for that
// end.
func TestADatagramThatSomethingWaitsForIsNotMarkedNoWait(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(t *testing.T, c *Conn, to netip.AddrPort)
		noWait bool
	}{
		"nothing waits": {write, true},
		"Flush": {func(t *testing.T, c *Conn, to netip.AddrPort) {
			write(t, c, to)
			require.NoError(t, c.Flush())
		}, false},
		"Close": {func(t *testing.T, c *Conn, to netip.AddrPort) {
			write(t, c, to)
			require.NoError(t, c.Close())
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				r, c := recorded(t, backend, false, func(c *Conn, to netip.AddrPort) { test.answer(t, c, to) })
				_, err := c.Write([]byte("x"))
				require.NoError(t, err)
				_, err = c.Read(make([]byte, 10))
				require.NoError(t, err)
				require.Equal(t, []bool{test.noWait}, r.flags())
			})
		})
	}
}

// A datagram that has to wait for the end of an earlier send ends the hold of the reactor that has
// that send.
func TestADatagramThatWaitsForAnEarlierSendEndsItsHold(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		r, c := recorded(t, backend, true, func(c *Conn, to netip.AddrPort) { write(t, c, to) })
		_, err := c.Write([]byte("x"))
		require.NoError(t, err)
		conntest.Eventually(t, func() bool { return len(r.flags()) == 1 }, "the first answer is sent")
		_, err = c.Write([]byte("x"))
		require.NoError(t, err)
		for range 2 {
			_, err = c.Read(make([]byte, 10))
			require.NoError(t, err, "an answer is held")
		}
		require.True(t, r.flags()[0])
	})
}
