package proxy

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/examples/proxy/internal/upstream"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// An echoer sends datagrams back, unless it is silent.
type echoer struct {
	*net.UDPConn
	came   atomic.Int64
	silent atomic.Bool
}

func listenPackets(t *testing.T, addr string) *echoer {
	t.Helper()
	at, err := net.ResolveUDPAddr("udp", addr)
	require.NoError(t, err)
	c, err := net.ListenUDP("udp", at)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	o := &echoer{UDPConn: c}
	go func() {
		p := make([]byte, 65535)
		for {
			n, from, err := c.ReadFromUDPAddrPort(p)
			if err != nil {
				return
			}
			o.came.Add(1)
			if !o.silent.Load() {
				_, _ = c.WriteToUDPAddrPort(p[:n], from)
			}
		}
	}()
	return o
}

// nobody is an address at which nobody listens, and will not unless the test does.
func nobody(t *testing.T) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer c.Close()
	return c.LocalAddr().String()
}

func packetText(more string, upstreams ...string) string {
	var list []string
	for _, u := range upstreams {
		list = append(list, fmt.Sprintf("{address = 'udp://%s'}", u))
	}
	return fmt.Sprintf("[[route]]\nlisten = ['udp://127.0.0.1:0']\nupstream = [%s]\n%s", strings.Join(list, ", "), more)
}

func (f *fixture) packets() net.Conn {
	f.t.Helper()
	c, err := net.Dial("udp", f.addr())
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = c.Close() })
	return c
}

// insist sends again until an answer comes, as clients of datagrams do.
func insist(c net.Conn, text string) bool {
	p := make([]byte, 100)
	for end := time.Now().Add(conntest.Patience); time.Now().Before(end); {
		_, _ = c.Write([]byte(text))
		_ = c.SetReadDeadline(time.Now().Add(25 * time.Millisecond))
		if n, err := c.Read(p); err == nil && string(p[:n]) == text {
			return true
		}
	}
	return false
}

func (f *fixture) upstream(i int) upstream.State { return f.route().Upstreams[i] }

func TestDatagramsFindTheirWayBackAndSessionsEnd(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		up := listenPackets(t, "127.0.0.1:0")
		f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['udp://127.0.0.1:0']\nidle_timeout = '2s'\nupstream = [{address = 'udp://%v'}]", up.LocalAddr()))
		conntest.Each(t, 50, func(i int) error {
			c, err := net.Dial("udp", f.addr())
			if err != nil {
				return err
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(conntest.Patience))
			for j := range 20 {
				if err := exchange(c, fmt.Sprintf("%d of %d", j, i)); err != nil {
					return err
				}
			}
			return nil
		})
		require.GreaterOrEqual(t, f.route().Accepted, uint64(50))
		conntest.Eventually(t, func() bool { return f.route().Active == 0 })
	})
}

// The kernel tells of a closed port: that counts, the session goes on elsewhere, and sessions to
// come begin there.
func TestDatagramsAreNotSentForLongToWhereNobodyListens(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		up := listenPackets(t, "127.0.0.1:0")
		f := start(t, backend, packetText("health = {fails = 3, eject = '1h'}", nobody(t), up.LocalAddr().String()))
		conntest.Eventually(t, func() bool {
			return insist(f.packets(), "hello") && !f.upstream(0).Healthy
		})
		conntest.Eventually(t, func() bool { return f.route().Retried >= 3 }, "sessions that have changed upstreams")
		require.Contains(t, f.upstream(0).Why, "refused")
		require.True(t, f.upstream(1).Healthy)
		before := f.upstream(0).Opened
		for range 20 {
			c := f.packets()
			_ = c.SetDeadline(time.Now().Add(conntest.Patience))
			require.NoError(t, exchange(c, "at the first try"))
		}
		require.Equal(t, before, f.upstream(0).Opened)
	})
}

// That there is a socket says nothing: an answer does.
func TestAnUpstreamOfDatagramsIsWellAgainWhenItAnswers(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		at := nobody(t)
		f := start(t, backend, packetText("health = {fails = 1, eject = '1h'}", at))
		c := f.packets()
		conntest.Eventually(t, func() bool {
			_, _ = c.Write([]byte("lost"))
			return f.upstream(0).Failures > 3 && !f.upstream(0).Healthy
		})
		up := listenPackets(t, at)
		require.True(t, insist(c, "there"), "the session of before, since there is no other upstream")
		require.Positive(t, up.came.Load())
		conntest.Eventually(t, func() bool { return f.upstream(0).Healthy })
	})
}

func TestSessionsAreBoundedForEachSourceAndInAll(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, limit := range []string{"max_per_source = 2", "max_sessions = 2"} {
			up := listenPackets(t, "127.0.0.1:0")
			f := start(t, backend, packetText("udp = {"+limit+"}", up.LocalAddr().String()))
			for range 2 { // each keeps its place if it gets an answer
				require.True(t, insist(f.packets(), "x"))
			}
			for range 2 {
				_, err := f.packets().Write([]byte("x"))
				require.NoError(t, err)
			}
			conntest.Eventually(t, func() bool { r := f.route(); return r.Active == 2 && r.Refused == 2 }, func() string { return fmt.Sprint(limit, f.route()) })
			require.EqualValues(t, 2, f.route().Accepted)
		}
	})
}

func TestTheRateOfASessionIsBounded(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		up := listenPackets(t, "127.0.0.1:0")
		f := start(t, backend, packetText("udp = {max_rate = 5}", up.LocalAddr().String()))
		c, other := f.packets(), f.packets()
		const n = 50
		from := time.Now().Unix() - 1 // a worker's clock may be a little behind
		for range n {
			_, err := c.Write([]byte("x"))
			require.NoError(t, err)
		}
		conntest.Eventually(t, func() bool { return up.came.Load()+int64(f.route().Dropped) == n })
		require.LessOrEqual(t, up.came.Load(), 5*(time.Now().Unix()-from+1))
		require.GreaterOrEqual(t, up.came.Load(), int64(5))
		_ = other.SetDeadline(time.Now().Add(conntest.Patience))
		require.NoError(t, exchange(other, "another session is not held up by that"))
	})
}

// Datagrams that have gathered are forwarded together: the sockets' tasks run a few times, not once
// for each datagram.
func TestDatagramsThatHaveGatheredPassInBatches(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		up := listenPackets(t, "127.0.0.1:0")
		f := start(t, backend, "workers = 1\n"+packetText("", up.LocalAddr().String()))
		c := f.packets()
		_ = c.SetDeadline(time.Now().Add(conntest.Patience))
		require.NoError(t, exchange(c, "begin"))
		up.silent.Store(true) // answers come when this process's goroutines can send them, one by one
		rt := f.group.Runtime()
		parked := func() bool { return rt.Stats().Parked == 1 }
		conntest.Eventually(t, parked)
		before := rt.Stats().Total.Polled
		stuck, free := make(chan struct{}), make(chan struct{})
		sched.Go(rt, func(*sched.Context) (struct{}, error) {
			close(stuck)
			<-free
			return struct{}{}, nil
		})
		conntest.Receive(t, stuck)
		const n = 100
		for i := range n {
			_, err := fmt.Fprintf(c, "%d", i)
			require.NoError(t, err)
		}
		close(free)
		conntest.Eventually(t, func() bool { return up.came.Load() == n+1 })
		conntest.Eventually(t, parked)
		require.Less(t, rt.Stats().Total.Polled-before, uint64(n))
		require.Zero(t, f.route().Dropped)
	})
}
