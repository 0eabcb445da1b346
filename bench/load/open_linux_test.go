package load

import (
	"bytes"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOpenLoopSendsAtItsRateWhateverComesBack(t *testing.T) {
	for how, spin := range map[string]bool{"waiting": false, "spinning": true} {
		t.Run(how, func(t *testing.T) {
			cfg := config(serve(t, echo), 64)
			cfg.Spin = spin
			cfg.Conns, cfg.Rate, cfg.Warmup, cfg.For = 5, 500, 20*time.Millisecond, 200*time.Millisecond
			r, err := patiently(Echo, cfg)
			require.NoError(t, err)
			require.InDelta(t, 100, r.Count, 1, "messages that were due in a fifth of a second")
			require.Equal(t, r.Count, r.Latency.Count)
			require.Equal(t, r.Count, r.Late.Count)
			require.LessOrEqual(t, r.Late.P50, r.Latency.P50, "sending is part of the latency")
			require.LessOrEqual(t, r.Latency.P50, r.Latency.P99)
			require.LessOrEqual(t, r.Latency.P99, r.Latency.Max)
		})
	}
}

// A generator that is late sends what it owes, and counts its wait.
func TestMessagesOwedAtTheEndOfTheWindowAreSent(t *testing.T) {
	p := newPace(Config{Rate: 1000})
	p.from, p.to = 10*time.Millisecond, 20*time.Millisecond
	for range 12 {
		_, _, ok := p.next(15 * time.Millisecond)
		require.True(t, ok)
	}
	require.Zero(t, p.owed())
	p.stop()
	require.Equal(t, 8, p.owed())
	for n := range 8 {
		number, _, ok := p.next(50 * time.Millisecond)
		require.True(t, ok)
		require.Equal(t, 12+n, number)
	}
	require.Zero(t, p.owed())
	_, _, ok := p.next(50 * time.Millisecond)
	require.False(t, ok)
}

// stalling echoes. After it has served for a time, it rests once before the next message.
func stalling(after, rest time.Duration) func(net.Conn) {
	return func(c net.Conn) {
		var began time.Time // the first message, which a busy machine may send late
		stalled := false
		change(func(p []byte) []byte {
			if began.IsZero() {
				began = time.Now()
			}
			if !stalled && time.Since(began) > after {
				stalled = true
				time.Sleep(rest)
			}
			return p
		})(c)
	}
}

// While the server stalls, messages become due. Each must be counted with the whole of its wait,
// although only one was under way when the stall began. A closed loop sends none of them, and hides
// the stall.
func TestOpenLoopCountsAStallsLatencyFromTheIntendedStart(t *testing.T) {
	const rest, rate = 300 * time.Millisecond, 200.
	cfg := config(serve(t, stalling(100*time.Millisecond, rest)), 64)
	cfg.Conns, cfg.Warmup, cfg.For = 1, 0, 600*time.Millisecond
	cfg.Rate = rate
	open, err := patiently(Echo, cfg)
	require.NoError(t, err)
	require.GreaterOrEqual(t, open.Latency.Max, rest-5*time.Millisecond)
	// Half of the 120 messages are due in the stall, evenly: a quarter of all wait for more than
	// half of it.
	require.GreaterOrEqual(t, at(t, open.Latency, 75), rest/3, "of all that the stall held up: %+v", open.Latency)

	cfg.Addr, cfg.Rate = serve(t, stalling(100*time.Millisecond, rest)), 0
	closed, err := patiently(Echo, cfg)
	require.NoError(t, err)
	require.GreaterOrEqual(t, closed.Latency.Max, rest-5*time.Millisecond)
	require.Less(t, at(t, closed.Latency, 75), rest/3, "one message saw it")
}

// at is how long that percentage of all took at most.
func at(t *testing.T, l Latencies, percentile float64) time.Duration {
	for _, p := range l.Curve {
		if p.Percentile == percentile {
			return p.Took
		}
	}
	t.Fatalf("no percentile %g in %+v", percentile, l.Curve)
	return 0
}

// A connection without room for a message that is due does not make it due later: the wait counts.
func TestOpenLoopCountsTheWaitForRoomInTheConnection(t *testing.T) {
	const rest = 400 * time.Millisecond
	cfg := config(serve(t, func(c net.Conn) {
		_, _ = io.CopyN(c, c, 1<<20) // the greeting
		time.Sleep(rest)
		echo(c)
	}), 1<<20)
	cfg.Conns, cfg.Rate, cfg.Warmup, cfg.For = 1, 100, 0, 300*time.Millisecond
	r, err := patiently(Echo, cfg)
	require.NoError(t, err)
	require.EqualValues(t, 30, r.Count)
	require.GreaterOrEqual(t, r.Latency.P50, 200*time.Millisecond, "the wait for the server")
	require.GreaterOrEqual(t, r.Late.Max, 50*time.Millisecond, "of which the sending is a part")
}

func TestOverloadShowsInOpenLoopLatencies(t *testing.T) {
	slow := change(func(p []byte) []byte { time.Sleep(4 * time.Millisecond); return p })
	cfg := config(serve(t, slow), 64)
	cfg.Conns, cfg.Rate, cfg.For = 1, 1000, 200*time.Millisecond // the server echoes all gathered messages at a time
	r, err := patiently(Echo, cfg)
	require.NoError(t, err)
	require.InDelta(t, 200, r.Count, 2)
	require.GreaterOrEqual(t, r.Latency.P50, 2*time.Millisecond)
}

// Slow connections are a closed loop of marked messages beside the others' open one.
func TestSlowConnectionsAreNotInTheLatencies(t *testing.T) {
	const burns = 30 * time.Millisecond
	addr := serve(t, change(func(p []byte) []byte {
		if p[0] == Mark {
			time.Sleep(burns)
		}
		return p
	}))
	cfg := config(addr, 64)
	cfg.Conns, cfg.Slow, cfg.Rate, cfg.Warmup, cfg.For = 6, 2, 500, 0, 300*time.Millisecond
	r, err := patiently(Echo, cfg)
	require.NoError(t, err)
	require.InDelta(t, 150, r.Count, 1)
	require.Equal(t, r.Count, r.Latency.Count)
	require.Positive(t, r.Slow)
	require.LessOrEqual(t, r.Slow, 2*int64(r.Elapsed/burns+1), "each waits for its own")

	cfg.Slow = cfg.Conns
	_, err = patiently(Echo, cfg)
	require.Error(t, err, "nobody is left for the open loop")
}

// One of so many messages is marked, on every connection, and it alone is not in the latencies.
func TestMarkedMessagesAreNotInTheLatencies(t *testing.T) {
	var marks, others atomic.Int64
	addr := serve(t, change(func(p []byte) []byte {
		n := bytes.Count(p, []byte{Mark})
		marks.Add(int64(n))
		others.Add(int64(len(p)/64 - n))
		return p
	}))
	cfg := config(addr, 64)
	cfg.Conns, cfg.Rate, cfg.Marked, cfg.Warmup, cfg.For = 7, 2000, 10, 0, 200*time.Millisecond
	r, err := patiently(Echo, cfg)
	require.NoError(t, err)
	require.InDelta(t, 0.1, float64(marks.Load())/float64(marks.Load()+others.Load()), 0.04)
	require.Equal(t, r.Count, r.Latency.Count)
	require.LessOrEqual(t, r.Count+int64(cfg.Conns), others.Load(), "each connection is greeted, without a mark")
	require.Positive(t, r.Slow)
	require.LessOrEqual(t, r.Slow, marks.Load())

	for _, odd := range []func(*Config){func(c *Config) { c.Rate = 0 }, func(c *Config) { c.Marked = -1 }} {
		cfg := cfg
		odd(&cfg)
		_, err = Echo(cfg)
		require.Error(t, err, "it is for an open loop")
	}
}
