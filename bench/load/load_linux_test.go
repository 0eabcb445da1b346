package load

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serve calls handle for each connection to the returned address until the test ends.
func serve(t *testing.T, handle func(net.Conn)) netip.AddrPort {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				handle(c)
			}()
		}
	}()
	return netip.MustParseAddrPort(ln.Addr().String())
}

func echo(c net.Conn) { _, _ = io.Copy(c, c) }

// change echoes with each piece changed by f.
func change(f func([]byte) []byte) func(net.Conn) {
	return func(c net.Conn) {
		p := make([]byte, 4<<10)
		for {
			n, err := c.Read(p)
			if err != nil {
				return
			}
			if _, err := c.Write(f(p[:n])); err != nil {
				return
			}
		}
	}
}

func config(addr netip.AddrPort, size int) Config {
	return Config{Addr: addr, Conns: 3, Size: size, Warmup: 10 * time.Millisecond, For: 50 * time.Millisecond, PID: os.Getpid()}
}

// patiently runs a load again, for longer, if the machine was too busy for anything to come back.
func patiently(run func(Config) (Result, error), cfg Config) (r Result, err error) {
	for {
		if r, err = run(cfg); !errors.Is(err, ErrNothing) || cfg.For > 10*time.Second {
			return r, err
		}
		cfg.For *= 4
	}
}

func TestEchoCountsMessagesThatCameBackWhole(t *testing.T) {
	for _, size := range []int{1, 64, 16 << 10, 1 << 20} {
		for _, depth := range []int{1, 3} {
			cfg := config(serve(t, echo), size)
			cfg.Depth = depth
			r, err := patiently(Echo, cfg)
			require.NoError(t, err)
			require.Positive(t, r.Count)
			require.InDelta(t, r.Count*int64(size), r.Bytes, float64(size*cfg.Conns*depth))
			require.Positive(t, r.CPU)
			require.GreaterOrEqual(t, r.Elapsed, cfg.For)
		}
	}
}

func TestChunksAreAskedForOneByOne(t *testing.T) {
	chunks := NewChunker()
	r, err := patiently(Chunks, config(serve(t, func(c net.Conn) {
		p := make([]byte, 16)
		for {
			n, err := c.Read(p)
			if err != nil {
				return
			}
			for _, b := range p[:n] {
				if _, err := c.Write(chunks.Chunk(b)); err != nil {
					return
				}
			}
		}
	}), 0))
	require.NoError(t, err)
	require.Positive(t, r.Count)
}

func TestChurnBeginsANewConnectionForEachMessage(t *testing.T) {
	var accepted atomic.Int64
	r, err := patiently(Churn, config(serve(t, func(c net.Conn) { accepted.Add(1); echo(c) }), 64))
	require.NoError(t, err)
	require.Positive(t, r.Count)
	require.GreaterOrEqual(t, accepted.Load(), r.Count)
	require.Equal(t, r.Count*64, r.Bytes)
}

func TestIdleHoldsConnectionsThatHaveSpokenOnce(t *testing.T) {
	var open, messages atomic.Int64
	addr := serve(t, func(c net.Conn) {
		open.Add(1)
		defer open.Add(-1)
		change(func(p []byte) []byte { messages.Add(1); return p })(c)
	})
	held := false
	cfg := config(addr, 64)
	cfg.Conns = 200
	require.NoError(t, Idle(cfg, func() {
		held = true
		require.EqualValues(t, 200, open.Load())
		require.EqualValues(t, 200, messages.Load())
	}))
	require.True(t, held)
}

func TestConnectionsSpeakTLS(t *testing.T) {
	backend := httptest.NewUnstartedServer(nil)
	backend.StartTLS() // for its certificate
	defer backend.Close()
	addr := serve(t, func(c net.Conn) { echo(tls.Server(c, &tls.Config{Certificates: backend.TLS.Certificates})) })
	for _, size := range []int{1, 64, 16 << 10} {
		cfg := config(addr, size)
		cfg.TLS = true
		r, err := patiently(Echo, cfg)
		require.NoError(t, err)
		require.Positive(t, r.Count)
		require.NoError(t, Idle(cfg, func() {}))
		cfg.Request, cfg.Reply = "request", "another"
		require.ErrorContains(t, Idle(cfg, func() {}), "wrong bytes")
	}
	cfg := config(serve(t, echo), 1)
	cfg.TLS = true
	_, err := patiently(Echo, cfg)
	require.Error(t, err)
	require.Error(t, Idle(cfg, func() {}))
}

func TestIdleCanAskSomethingThatIsNoEcho(t *testing.T) {
	addr := serve(t, change(func(p []byte) []byte {
		if string(p) != "question" {
			return []byte("what?")
		}
		return []byte("an answer")
	}))
	cfg := config(addr, 1)
	cfg.Request, cfg.Reply = "question", "an answer"
	require.NoError(t, Idle(cfg, func() {}))
	cfg.Reply = "no answer"
	require.ErrorContains(t, Idle(cfg, func() {}), "wrong bytes")
}

func TestAWrongByteFailsTheRun(t *testing.T) {
	broken := map[string]func(net.Conn){
		"one bit":      change(func(p []byte) []byte { p[len(p)/2] ^= 1; return p }),
		"one too many": change(func(p []byte) []byte { return append(p[:len(p):len(p)], 0) }),
		"one missing, and the end": func(c net.Conn) {
			p := make([]byte, 4<<10)
			n, _ := c.Read(p)
			_, _ = c.Write(p[:max(0, n-1)])
		},
		"the end at once": func(net.Conn) {},
	}
	runs := map[string]func(Config) error{
		"echo":   func(cfg Config) error { _, err := patiently(Echo, cfg); return err },
		"chunks": func(cfg Config) error { _, err := patiently(Chunks, cfg); return err },
		"churn":  func(cfg Config) error { _, err := patiently(Churn, cfg); return err },
		"idle":   func(cfg Config) error { return Idle(cfg, func() {}) },
		"open":   func(cfg Config) error { cfg.Rate = 1000; _, err := patiently(Echo, cfg); return err },
		"slow": func(cfg Config) error {
			cfg.ReadRate = 1 << 20
			_, err := SlowReaders(cfg, func() {})
			return err
		},
	}
	for what, handle := range broken {
		for name, run := range runs {
			t.Run(name+", "+what, func(t *testing.T) {
				require.Error(t, run(config(serve(t, handle), 64)))
			})
		}
	}
}

func TestWhatALoadWouldNotLookAtIsRefused(t *testing.T) {
	for what, change := range map[string]func(*Config){
		"rate": func(c *Config) { c.Rate = 1 }, "TLS": func(c *Config) { c.TLS = true }, "slow": func(c *Config) { c.Slow = 1 },
		"marks": func(c *Config) { c.Marked = 1 },
	} {
		cfg := config(netip.AddrPort{}, 64)
		cfg.ReadRate = 1 << 20
		change(&cfg)
		_, err := patiently(Churn, cfg)
		require.ErrorIs(t, err, errors.ErrUnsupported, what)
		if what != "TLS" {
			require.ErrorIs(t, Idle(cfg, nil), errors.ErrUnsupported, what)
		}
		_, err = SlowReaders(cfg, nil)
		require.ErrorIs(t, err, errors.ErrUnsupported, what)
		if what != "rate" {
			_, err = patiently(Packets, cfg)
			require.ErrorIs(t, err, errors.ErrUnsupported, what)
		}
	}
}

// A server that forgets one message of one connection, and is found out although the others go on.
func TestAMessageThatNeverComesBackFailsTheRun(t *testing.T) {
	defer func(d time.Duration) { stall = d }(stall)
	for name, run := range map[string]func(Config) (Result, error){"echo": Echo, "churn": Churn} {
		t.Run(name, func(t *testing.T) {
			var forgotten atomic.Bool
			addr := serve(t, func(c net.Conn) {
				change(func(p []byte) []byte {
					if !forgotten.Swap(true) {
						return nil
					}
					return p
				})(c)
			})
			var err error
			for stall = 200 * time.Millisecond; stall < time.Minute; stall *= 2 { // others may be late as well
				forgotten.Store(false)
				_, err = patiently(run, config(addr, 64))
				if err != nil && strings.Contains(err.Error(), ": 1 never came back") {
					break
				}
			}
			require.ErrorContains(t, err, "1 never came back")
		})
	}
}

func TestEveryMessageDiffersFromTheNext(t *testing.T) {
	p := newPayload(64)
	for i := range variants - 1 {
		require.NotEqual(t, p.message(i), p.message(i+1))
		require.Len(t, p.message(i), 64)
	}
	require.Equal(t, p.message(0), p.message(variants))
}

func TestResidentSeesMemoryThatIsTouched(t *testing.T) {
	before, err := Resident(os.Getpid())
	require.NoError(t, err)
	p := make([]byte, 32<<20)
	for i := 0; i < len(p); i += 4096 {
		p[i] = 1
	}
	after, err := Resident(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, after-before, int64(24<<20))
	require.Equal(t, byte(1), p[0])
}
