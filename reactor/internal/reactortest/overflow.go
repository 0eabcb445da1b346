package reactortest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/reactor"
)

var overflowing = []behavior{
	{"takes more operations at once than its queue holds", testManyOperations},
	{"keeps more completions than its queue holds", testManyCompletions},
	{"takes operations while completions pile up", testPileUp},
}

var tiny = reactor.Config{Entries: 8, Buffers: 64, BufferSize: 4096}

func testManyOperations(t *testing.T, b Backend) {
	l := newLoop(t, b, tiny)
	ends, peers := l.pairs(local, 300)
	for i, e := range ends {
		write(t, peers[i], string(text(uint64(i), 20)))
		e.recv()
		e.send(text(uint64(i), 30))
		for range 10 {
			e.cancel(reactor.Accept)
		}
	}
	l.until("all", func() bool { return received(ends) == 300*20 && !flying(ends, reactor.Send) })
	for i, e := range ends {
		requireSame(t, text(uint64(i), 20), e.data)
		read(t, peers[i], string(text(uint64(i), 30)))
		e.cancel(reactor.Recv)
	}
	l.until("all ends", func() bool { return !flying(ends, reactor.Recv) })
	for _, e := range ends {
		e.close()
	}
	l.settle()
	for _, c := range peers {
		requireClosed(t, c)
	}
}

func testManyCompletions(t *testing.T, b Backend) {
	l := newLoop(t, b, tiny)
	ends, peers := l.pairs(local, 300)
	for _, e := range ends {
		e.recv()
	}
	l.settle()
	for i, c := range peers { // all of them complete while no Poll runs
		write(t, c, string(text(uint64(i), 20)))
		finish(t, c)
	}
	enterKernel(t)
	for deadline := time.Now().Add(patience.Limit); flying(ends, reactor.Recv); { // without a wait
		l.poll(0, false)
		require.True(t, time.Now().Before(deadline), "%s", l.dump())
	}
	for i, e := range ends {
		requireSame(t, text(uint64(i), 20), e.data)
		require.True(t, e.eof())
	}
	l.idle()
}

func testPileUp(t *testing.T, b Backend) {
	l := newLoop(t, b, tiny)
	l.out = make([]reactor.Completion, 5)
	ends, peers := l.pairs(local, 300)
	for _, e := range ends {
		e.recv()
	}
	l.settle()
	sent := 0
	for round := range 3 {
		for i, c := range peers {
			write(t, c, string(text(uint64(i+round), 20)))
		}
		for i, e := range ends {
			if !e.flying[reactor.Send] {
				sent += 30
				e.send(text(uint64(i), 30))
			}
		}
		l.poll(0, false)
	}
	l.until("all", func() bool { return received(ends) == 3*300*20 && !flying(ends, reactor.Send) })
	for i, e := range ends {
		var want []byte
		for round := range 3 {
			want = append(want, text(uint64(i+round), 20)...)
		}
		requireSame(t, want, e.data)
		sent -= e.sent
	}
	require.Zero(t, sent)
}
