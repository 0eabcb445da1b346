package reactortest

import (
	"bytes"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/reactor"
)

var losing = []behavior{
	{"a completion that the kernel drops ends all operations", testLossEndsAll},
	{"a datagram fails if the kernel drops its completion", testLossBatch},
	{"bytes behind a loss are not delivered", testLossBytes},
	{"an operation that a rescuer has seen end does not end again with a loss", testLossRescued},
	{"a wake ends a Poll although the kernel drops its completion", testLossWake},
	{"a reactor closes while the kernel drops completions", testLossClose},
}

// newLosing returns a loop in which completions are dropped by the rule.
func newLosing(
	t *testing.T, b Backend, sizes reactor.Config, r faults.Rule,
) (l *loop, plan *faults.Plan, ended *int) {
	t.Helper()
	if b.Config.Backend != "io_uring" {
		t.Skip("only io_uring has completions to drop")
	}
	if faults.Of(&b.Config) != nil {
		t.Skip("the plan of this test is the only one")
	}
	ended = new(int)
	r.Call, r.Errno = faults.Complete, syscall.ENOMEM
	plan = faults.New(1, r)
	faults.Into(&b.Config, plan)
	b.Config.OnLoss = func(dropped, n int) {
		require.Positive(t, dropped)
		*ended += n
	}
	return newLoop(t, b, sizes), plan, ended
}

func testLossEndsAll(t *testing.T, b Backend) {
	sizes := small
	sizes.Datagrams = 4
	l, plan, ended := newLosing(t, b, sizes, faults.Rule{Every: 1, Most: 1})
	ends, peers := l.pairs("tcp", 5)
	full, _ := l.pairs(local, 2) // on those no room becomes free later
	ends[2], ends[3] = full[0], full[1]
	ends[0].recv()
	ends[1].ready(reactor.Readable)
	fill(t, ends[2].fd)
	ends[2].ready(reactor.Writable)
	fill(t, ends[3].fd)
	ends[3].send([]byte("there is no room"))
	ends[4].start(reactor.Op{Kind: reactor.Hangup})
	fd, addr := listenSocket(t, "tcp")
	listener := l.add(fd)
	listener.accept()
	connecting := l.add(newSocket(t, "tcp"))
	connecting.connect(unansweringAddress(t))
	packets, to := l.packetEnd("udp4")
	packets.recvFrom()
	l.poll(0, false)
	write(t, peers[0], "lost")
	l.until("the loss", func() bool { return *ended > 0 })
	require.Equal(t, 1, plan.Injected(faults.Complete, syscall.ENOMEM))
	require.Equal(t, 8, *ended)
	for _, e := range []*endpoint{ends[0], ends[3], listener, connecting} {
		l.until("an end", func() bool { return !e.inFlight() })
	}
	require.Equal(t, syscall.ENOMEM, ends[0].errno(reactor.Recv))
	require.Equal(t, syscall.ENOMEM, ends[3].errno(reactor.Send))
	require.Equal(t, syscall.ENOMEM, listener.errno(reactor.Accept))
	require.Equal(t, syscall.ENOMEM, connecting.errno(reactor.Connect))
	require.Empty(t, ends[0].data)
	require.False(t, ends[1].flying[reactor.Readable])
	require.Zero(t, ends[1].errno(reactor.Readable), "in vain")
	require.False(t, ends[2].flying[reactor.Writable])
	require.Zero(t, ends[2].errno(reactor.Writable), "in vain")

	// All operations work as before.
	require.True(t, ends[4].flying[reactor.Hangup], "submitted again")
	require.True(t, packets.flying[reactor.RecvFrom], "submitted again")
	peer, _ := packetPeer(t, "udp4")
	for i := range 3 * sizes.Datagrams {
		writeTo(t, peer, []byte("a datagram"), to)
		l.until("a datagram", func() bool { return len(packets.packets) == i+1 })
	}
	listener.accept()
	c := dial(t, addr)
	l.until("a connection", func() bool { return len(listener.conns) == 1 })
	e := l.add(listener.conns[0])
	receiveAll(l, e, c)
	require.NoError(t, l.r.Wake())
	l.settle()
}

// receiveAll receives more than the reactor has memory for.
func receiveAll(l *loop, e *endpoint, peer net.Conn) {
	l.t.Helper()
	e.recv()
	want := text(30, 5*small.Buffers*small.BufferSize)
	written := inBackground(func() error {
		_, err := peer.Write(want)
		return err
	})
	l.until("all bytes", func() bool { return len(e.data) == len(want) })
	require.NoError(l.t, <-written)
	requireSame(l.t, want, e.data)
}

func testLossBatch(t *testing.T, b Backend) {
	l, plan, _ := newLosing(t, b, small, faults.Rule{Every: 2})
	e, _ := l.packetEnd("udp4")
	peer, to := packetPeer(t, "udp4")
	for range 20 {
		batch := add(t, new(reactor.Batch), to, "one", "two", "three", "four")
		e.failed = nil
		e.sendTo(batch)
		l.until("the end of a batch", func() bool { return !e.flying[reactor.SendTo] })
		for _, f := range e.failed {
			require.Equal(t, syscall.ENOMEM, f.Errno)
		}
	}
	require.Positive(t, plan.Injected(faults.Complete, syscall.ENOMEM))
	require.NotEmpty(t, e.failed)
	plan.Stop()
	e.failed = nil
	e.sendTo(add(t, new(reactor.Batch), to, "last"))
	l.until("the end of a batch", func() bool { return !e.flying[reactor.SendTo] })
	for said := ""; said != "last"; {
		said, _ = readFrom(t, peer)
	}
	if e.failed != nil { // the last loss was not handled yet
		require.Equal(t, syscall.ENOMEM, e.failed[0].Errno)
	}
}

func testLossBytes(t *testing.T, b Backend) {
	const pieces, size = 60, 1000
	pools := reactor.Config{Entries: 64, Buffers: 64, BufferSize: 64} // each piece is many completions
	l, plan, ended := newLosing(t, b, pools, faults.Rule{Every: 97})
	ends, peers := l.pairs("tcp", 8)
	want := text(30, pieces*size)
	for _, e := range ends {
		e.recv()
	}
	for i := 0; i < pieces && flying(ends, reactor.Recv); i++ {
		for n, c := range peers {
			if ends[n].flying[reactor.Recv] {
				write(t, c, string(want[i*size:][:size]))
			}
		}
		for range i % 5 { // a rescuer delivers no later bytes either
			l.dispatchAll(l.rescue())
		}
		l.poll(time.Millisecond, false)
		for _, e := range ends {
			require.True(t, bytes.HasPrefix(want, e.data), "there is a hole")
			if !e.flying[reactor.Recv] {
				require.Equal(t, syscall.ENOMEM, e.errno(reactor.Recv))
			}
		}
	}
	require.Positive(t, plan.Injected(faults.Complete, syscall.ENOMEM))
	l.until("an end", func() bool { return *ended > 0 })
	plan.Stop()
	e, peer := l.pair("tcp")
	receiveAll(l, e, peer)
	l.settle()
}

func testLossRescued(t *testing.T, b Backend) {
	l, _, ended := newLosing(t, b, small, faults.Rule{Every: 2, Most: 1})
	ends, peers := l.pairs("tcp", 2)
	ends[0].ready(reactor.Readable)
	l.poll(0, false)
	write(t, peers[0], "first")
	l.rescueUntil("the first", func(*atomic.Bool) {}, func() bool {
		return !ends[0].flying[reactor.Readable]
	})
	ends[1].ready(reactor.Readable)
	write(t, peers[1], "second")
	l.until("the second", func() bool { return !ends[1].flying[reactor.Readable] })
	require.Equal(t, 1, *ended)
	require.Len(t, ends[0].ends[reactor.Readable], 1)
}

func testLossWake(t *testing.T, b Backend) {
	l, plan, _ := newLosing(t, b, small, faults.Rule{Every: 1, Most: 1})
	for range 3 {
		require.NoError(t, l.r.Wake())
		start := time.Now()
		l.poll(patience.Limit, false)
		require.Less(t, time.Since(start), patience.Limit, "it was not heard")
		l.poll(0, false)
	}
	require.Equal(t, 1, plan.Injected(faults.Complete, syscall.ENOMEM))
}

func testLossClose(t *testing.T, b Backend) {
	l, plan, _ := newLosing(t, b, small, faults.Rule{Every: 1, Most: 20})
	ends, peers := l.pairs("tcp", 30)
	for i, e := range ends {
		e.recv()
		write(t, peers[i], "lost or forgotten")
	}
	require.NoError(t, l.r.Close())
	l.closed = true
	require.Equal(t, 20, plan.Injected(faults.Complete, syscall.ENOMEM))
	for _, e := range ends {
		closeSocket(e.fd)
	}
}
