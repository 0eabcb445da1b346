package reactortest

import (
	"math/rand/v2"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var mixing = []behavior{
	{"any sequence of operations delivers the same bytes", testPrograms},
}

func testPrograms(t *testing.T, b Backend) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 8 {
		program := make([]byte, 40+rnd.IntN(200))
		for i := range program {
			program[i] = byte(rnd.Uint32())
		}
		Interpret(t, b, program)
	}
}

// Interpret runs a program whose bytes determine the events on one connection, and their order:
// sends, receives and cancels on the reactor's side, writes and reads on the peer's, buffers
// released late, polls. For every program each byte must arrive in both directions, in order, once.
func Interpret(t testing.TB, b Backend, program []byte) {
	t.Helper()
	l := newLoop(t, b, scarce)
	e, peer := l.pair(local)
	e.keep = true
	p := &script{l: l, e: e, peer: peer, in: text(15, 1<<20), out: text(16, 1<<20)}
	for _, step := range program {
		p.step(step)
	}
	p.finish()
	l.close()
}

// A script is the run of a program: the progress of each stream.
type script struct {
	l    *loop
	e    *endpoint
	peer net.Conn

	in, out       []byte
	written, read int // by the peer
}

// inTransit bounds the bytes that the peer has not read, and those that the reactor has not
// received. It is less than any socket holds, so that the peer's calls do not wait.
const inTransit = 32 << 10

func (p *script) step(s byte) {
	p.l.t.Helper()
	e, n := p.e, 1+97*int(s>>3) // 1 to 3008 bytes
	switch s & 7 {
	case 0:
		if !e.flying[reactor.Recv] {
			e.recv()
		}
	case 1:
		if e.flying[reactor.Recv] {
			e.cancel(reactor.Recv)
		}
	case 2:
		if !e.flying[reactor.Send] && e.sent-p.read < inTransit {
			e.send(p.out[e.sent:][:n])
		}
	case 3:
		if e.flying[reactor.Send] {
			e.cancel(reactor.Send)
		}
	case 4:
		if p.written-len(e.data) < inTransit {
			write(p.l.t, p.peer, string(p.in[p.written:][:n]))
			p.written += n
		}
	case 5:
		p.take(min(n, e.sent-p.read))
	case 6:
		e.release(min(len(e.kept), 1+int(s>>6)))
	case 7:
		p.l.poll(0, s>>3&1 == 0)
	}
}

// take reads the bytes at the peer that must have arrived.
func (p *script) take(n int) {
	p.l.t.Helper()
	read(p.l.t, p.peer, string(p.out[p.read:][:n]))
	p.read += n
}

func (p *script) finish() {
	p.l.t.Helper()
	e := p.e
	finish(p.l.t, p.peer)
	p.l.until("the end of the program", func() bool {
		e.release(len(e.kept))
		if !e.flying[reactor.Recv] && !e.eof() {
			e.recv()
		}
		return e.eof() && !e.inFlight()
	})
	p.take(e.sent - p.read)
	requireSame(p.l.t, p.in[:p.written], e.data)
	e.close()
	p.l.poll(0, false)
	n, err := p.peer.Read(make([]byte, 1))
	require.Zero(p.l.t, n)
	require.EqualError(p.l.t, err, "EOF")
}
