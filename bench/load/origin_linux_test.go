package load

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// through starts a proxy that has each message for a while, both ways, in front of the origin whose
// socket is returned. The first connection to it is a probe.
func through(t *testing.T, hold time.Duration) (Config, *net.TCPListener) {
	behind, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = behind.Close() })
	probe, err := net.Dial("tcp", behind.Addr().String())
	require.NoError(t, err)
	require.NoError(t, probe.(*net.TCPConn).SetLinger(0)) // ends with a reset
	require.NoError(t, probe.Close())
	pass := func(to, from net.Conn) {
		p := make([]byte, 4<<10)
		for {
			n, err := from.Read(p)
			if err != nil {
				_ = to.Close()
				return
			}
			time.Sleep(hold)
			if _, err := to.Write(p[:n]); err != nil {
				return
			}
		}
	}
	cfg := config(serve(t, func(c net.Conn) {
		up, err := net.Dial("tcp", behind.Addr().String())
		if err != nil {
			return
		}
		defer up.Close()
		go pass(c, up)
		pass(up, c)
	}), 64)
	cfg.Rate, cfg.Warmup, cfg.For = 200, 20*time.Millisecond, 300*time.Millisecond
	return cfg, behind
}

// inherited is a descriptor as command load is given one: the origin closes it.
func inherited(t *testing.T, ln *net.TCPListener) int {
	raw, err := ln.SyscallConn()
	require.NoError(t, err)
	fd := -1
	require.NoError(t, raw.Control(func(p uintptr) { fd = dup(t, int(p)) }))
	return fd
}

func TestTheLoadIsTheServerBehindAProxy(t *testing.T) {
	for how, spin := range map[string]bool{"waiting": false, "spinning": true} {
		t.Run(how, func(t *testing.T) {
			const hold = 3 * time.Millisecond
			cfg, behind := through(t, hold)
			cfg.Spin, cfg.Random = spin, spin
			cfg.Origin = inherited(t, behind)
			r, err := Echo(cfg)
			require.NoError(t, err)
			require.InDelta(t, 60, r.Count, 25, "messages that were due")
			require.Equal(t, r.Count, r.Passage.Count)
			require.GreaterOrEqual(t, at(t, r.Passage, 10), 2*hold, "both ways")
			require.LessOrEqual(t, r.Passage.P50, r.Latency.P50, "which is from the intended start, and has the origin's time")
			var n int64
			for _, c := range r.Latency.Counts {
				n += c.N
			}
			require.Equal(t, r.Count, n, "the whole histogram")
			require.Len(t, r.Slices, 3)
			for _, p99 := range r.Slices {
				require.GreaterOrEqual(t, p99, 2*hold)
				require.LessOrEqual(t, p99, r.Latency.Max)
			}
		})
	}
}

// While a message is under way on a connection another one is due: the origin cannot tell whose
// time it knows, so all of the latency counts.
func TestWithTwoMessagesOnAConnectionAllOfTheLatencyIsTheProxys(t *testing.T) {
	cfg, behind := through(t, 20*time.Millisecond)
	cfg.Conns = 1
	cfg.Origin = inherited(t, behind)
	r, err := Echo(cfg)
	require.NoError(t, err)
	require.GreaterOrEqual(t, r.Passage.P50, 40*time.Millisecond)
	require.LessOrEqual(t, r.Passage.Max, r.Latency.Max)
}

func TestAProxyThatCorruptsAByteIsFoundWithAnOriginToo(t *testing.T) {
	cfg, behind := through(t, 0)
	cfg.Origin = inherited(t, behind)
	cfg.Addr = serve(t, func(c net.Conn) {
		up, err := net.Dial("tcp", behind.Addr().String())
		if err != nil {
			return
		}
		defer up.Close()
		go func() { _, _ = io.Copy(c, up) }()
		change(func(p []byte) []byte {
			p[7] ^= 1
			_, _ = up.Write(p)
			return nil
		})(c)
	})
	_, err := Echo(cfg)
	require.ErrorContains(t, err, "wrong bytes")
}

func TestAnOriginIsForOpenLoops(t *testing.T) {
	cfg, behind := through(t, 0)
	cfg.Origin, cfg.Rate = inherited(t, behind), 0
	_, err := Echo(cfg)
	require.True(t, errors.Is(err, errors.ErrUnsupported), err)
}

func TestRandomArrivalsKeepTheRate(t *testing.T) {
	p := newPace(Config{Rate: 1e6, Random: true})
	require.InDelta(t, 3*manyArrivals*1e3, float64(p.at(3*manyArrivals)), 10)
	together := 0
	for n := range 3 * manyArrivals {
		gap := p.at(n+1) - p.at(n)
		require.GreaterOrEqual(t, gap, time.Duration(0))
		if gap < 100 {
			together++
		}
	}
	require.InDelta(t, 1-0.9048, float64(together)/(3*manyArrivals), 0.01, "closer than a tenth of the mean: 1-e^-0.1")
}

func TestASliceHasItsOwnPercentile(t *testing.T) {
	s := newSeries(3*Slice, float64(time.Millisecond))
	for i := range 300 {
		took := time.Duration(i % 100)
		if i/100 == 1 {
			took = time.Second
		}
		s.note(time.Duration(i)*time.Millisecond, took)
	}
	s.note(3*Slice, time.Hour) // after the window
	require.Equal(t, []time.Duration{98, time.Second, 98}, s.p99s())
}

func dup(t *testing.T, fd int) int {
	other, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	require.NoError(t, err)
	return other
}
