package reactortest

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

var interrupting = []behavior{
	{"signals lose nothing", testSignals},
}

// Signals are sent to the owner's thread all the time while it waits, accepts, connects and
// transfers in both directions.
func testSignals(t *testing.T, b Backend) {
	l := newLoop(t, b, small)
	ln := listen(t, "tcp")
	fd, to := listenSocket(t, "tcp")
	at := l.add(fd)
	const width = 4
	ends, peers := l.pairs("tcp", width)
	there, back := text(12, 256<<10), text(13, 256<<10)
	got := make([][]byte, width)
	defer interruptions()()

	at.accept()
	var jobs []<-chan error
	for i, e := range ends {
		got[i] = make([]byte, len(there))
		shrink(t, e.fd)
		e.recv()
		e.send(there)
		jobs = append(jobs,
			inBackground(func() error { _, err := peers[i].Write(back); return err }),
			inBackground(func() error { _, err := io.ReadFull(peers[i], got[i]); return err }))
	}
	for range 20 {
		e := l.add(newSocket(t, "tcp"))
		e.connect(ln.Addr())
		require.NoError(t, dialMany(to, 1))
		l.until("connected", func() bool { return !e.flying[reactor.Connect] })
		require.Zero(t, e.errno(reactor.Connect))
		require.NoError(t, accept(t, ln).Close())
		e.close()
	}
	l.until("everything", func() bool {
		done := len(at.conns) == 20
		for _, e := range ends {
			done = done && len(e.data) == len(back) && e.sent == len(there)
		}
		return done
	})
	for _, job := range jobs {
		require.NoError(t, <-job)
	}
	for i, e := range ends {
		requireSame(t, back, e.data)
		requireSame(t, there, got[i])
	}
	requireDistinct(t, at.conns, 20)
	for _, conn := range at.conns {
		l.add(conn).close()
	}
}
