package reactortest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/reactor"
)

var waiting = []behavior{
	{"a wait that nothing ends lasts its time", testWaitTimeout},
	{"a Poll that does not wait finds what is there", testWaitNone},
	{"a wait is ended by what comes", testWaitEnded},
	{"a wait does not begin when there is something to receive", testWaitReady},
	{"a hold is ended by what comes, also after a send", testHoldEnded},
	{"a small out is filled again and again, in order", testSmallOut},
}

func testWaitTimeout(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, _ := l.pair("tcp")
	e.recv()
	l.settle()
	for _, wait := range []time.Duration{time.Microsecond, 100 * time.Microsecond, 2500 * time.Microsecond} {
		waited := false
		for range 100 { // a signal may end some of them early
			start := time.Now()
			require.Zero(t, l.poll(wait, false))
			if waited = time.Since(start) >= wait; waited {
				break
			}
		}
		require.True(t, waited, "Poll(%v) never waits", wait)
		for range 10 { // a hold may end early, but it does end
			require.Zero(t, l.poll(wait, true))
		}
	}
}

func testWaitNone(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	e.recv()
	l.settle()
	for range 100 {
		require.Zero(t, l.poll(0, false))
		require.Zero(t, l.poll(0, true))
	}
	write(t, peer, "hello")
	for deadline := time.Now().Add(patience.Limit); len(e.data) < 5; {
		l.poll(0, false)
		require.True(t, time.Now().Before(deadline), "%s", l.dump())
	}
	e.send([]byte("hello"))
	for deadline := time.Now().Add(patience.Limit); e.sent < 5; {
		l.poll(0, true)
		require.True(t, time.Now().Before(deadline), "%s", l.dump())
	}
	read(t, peer, "hello")
}

func testWaitEnded(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	e.recv()
	for i := range 200 {
		written := inBackground(func() error { _, err := peer.Write([]byte{byte(i)}); return err })
		for len(e.data) == i {
			l.returns("data")
		}
		require.NoError(t, <-written)
		require.Equal(t, byte(i), e.data[i])
	}
}

// The data was noticed before the operation that receives it: no new event will report it.
func testWaitReady(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	for range 3 {
		e, peer := l.pair("tcp")
		write(t, peer, "hello")
		e.send([]byte("x"))
		l.settle()
		l.idle() // no other event will end the wait
		e.recv()
		l.returns("data from before")
		l.until("data", func() bool { return string(e.data) == "hello" })
	}
}

func testHoldEnded(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	e, peer := l.pair("tcp")
	e.recv()
	for i := range 200 {
		write(t, peer, "x") // arrives while the send is submitted, or before
		e.send([]byte("y"))
		for deadline := time.Now().Add(patience.Limit); len(e.data) == i || e.sent == i; {
			l.poll(100*time.Microsecond, true)
			require.True(t, time.Now().Before(deadline), "%s", l.dump())
		}
		read(t, peer, "y")
	}
}

func testSmallOut(t *testing.T, b Backend) {
	for _, size := range []int{1, 3} {
		l := newLoop(t, b, small)
		l.out = make([]reactor.Completion, size)
		fd, to := listenSocket(t, "tcp")
		at := l.add(fd)
		ends, peers := l.pairs(local, 10)
		at.accept()
		for i, e := range ends {
			e.recv()
			e.send([]byte("to the peer"))
			for j := range 20 {
				write(t, peers[i], string(text(uint64(j), 10)))
			}
			finish(t, peers[i])
		}
		require.NoError(t, dialMany(to, 20))
		l.until("everything", func() bool {
			return len(at.conns) == 20 && !flying(ends, reactor.Recv) && !flying(ends, reactor.Send)
		})
		var want []byte
		for j := range 20 {
			want = append(want, text(uint64(j), 10)...)
		}
		for i, e := range ends {
			requireSame(t, want, e.data)
			require.True(t, e.eof())
			read(t, peers[i], "to the peer")
		}
		for _, conn := range at.conns {
			l.add(conn).close()
		}
		l.idle()
	}
}
