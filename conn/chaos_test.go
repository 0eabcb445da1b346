package conn_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Environment variables: the first repeats the actions of a test that failed, though not how its
// connections are scheduled; the second is the number of connections of each case.
const (
	chaosSeed  = "SUIRO_CHAOS_SEED"
	chaosConns = "SUIRO_CHAOS_CONNS"
)

// Handlers and clients do random things. OnOpen is called once and first, OnClose once and last,
// and no two methods run at a time. The received bytes are those that were sent, and all of them if
// the end is orderly. No connection, descriptor or goroutine is left.
func TestChaosOfAllCallbacks(t *testing.T) {
	withSpares(t)
	chaosOf(t, func(h *chaos) conn.Handler { return h })
}

func TestChaosOfSequentialHandlers(t *testing.T) {
	withSpares(t)
	chaosOf(t, func(h *chaos) conn.Handler { return conn.Sequential(h.stream) })
}

func chaosOf(t *testing.T, handler func(*chaos) conn.Handler) {
	seed, err := strconv.ParseUint(os.Getenv(chaosSeed), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	n, err := strconv.Atoi(os.Getenv(chaosConns))
	if err != nil {
		n = 150
		if testing.Short() {
			n = 60
		}
	}
	frames, whole := int64(0), int64(0)
	secret := newSecret(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, network := range []string{"plain", "TLS"} {
			t.Run(network, func(t *testing.T) {
				conntest.Guard(t)
				t.Logf("repeat its actions with %s=%d", chaosSeed, seed)
				f := newFixture(t, backend, workers, func(cfg *conn.Config) { cfg.LingerTimeout = 200 * time.Millisecond })
				h := &chaos{world: &chaosWorld{audit: f.audit}, seed: seed}
				t.Cleanup(func() { conntest.Eventually(t, func() bool { return h.others.Load() == 0 }) })
				accepted := handler(h)
				if conntest.Wine() {
					accepted = forgetsResets{accepted, h.world}
				}
				client := (*tls.Config)(nil)
				if network == "TLS" {
					h.tls, client = true, secret.client
					f.listenTLS(secret.server, accepted)
				} else {
					ln, err := net.Listen("tcp", "127.0.0.1:0")
					require.NoError(t, err)
					h.dial = ln.Addr() // before any callback can run
					f.listenOn(ln, accepted)
				}
				conntest.Crowd(t, n, 16, func(i int) error {
					r := rand.New(rand.NewPCG(seed, uint64(i)<<40))
					return h.client(f.addr, client, r)
				})
				h.world.draining.Store(true)
				f.Drain()
				t.Logf("%d connections, %d frames, %d directions to the end", f.audit.opened.Load(),
					h.world.frames.Load(), h.world.whole.Load())
				frames += h.world.frames.Load()
				whole += h.world.whole.Load()
			})
		}
	})
	require.Positive(t, frames)
	require.Positive(t, whole)
}

// forgetsResets is for a system that may tell a peer of a reset as of an end, as Wine 8 does: what
// that end had sent is not compared.
type forgetsResets struct {
	conn.Handler
	world *chaosWorld
}

// Unwrap implements conn.Wrapper.
func (f forgetsResets) Unwrap() conn.Handler { return f.Handler }

func (f forgetsResets) OnClose(c *conn.Conn, err error) {
	if end := f.world.accepted(c.RemoteAddr().String()); end != nil && err != nil {
		end.torn.Store(true) // before the peer can hear of it
	}
	f.Handler.OnClose(c, err)
}

// client is one that sends, half-closes, resets, reads slowly or not at all.
func (h *chaos) client(addr net.Addr, cfg *tls.Config, r *rand.Rand) error {
	raw, err := net.DialTimeout(addr.Network(), addr.String(), conntest.Patience)
	if err != nil {
		return nil // it was reset before it knew that it was there
	}
	end := h.world.register(raw.LocalAddr().String(), false)
	_ = raw.SetDeadline(time.Now().Add(conntest.Patience))
	c := raw
	if cfg != nil {
		c = tls.Client(raw, cfg)
	}
	defer c.Close()
	if r.IntN(20) == 0 {
		return nil // says nothing
	}
	if t, ok := c.(*tls.Conn); ok && t.Handshake() != nil {
		return nil
	}
	// Later bytes are not compared, however long the rest takes.
	_ = raw.SetDeadline(time.Now().Add(100 * time.Millisecond))
	heard := make(chan bool, 1)
	go hearChaos(c, end, r.Uint64(), heard)
	failed := false
	for range r.IntN(6) {
		if end.send(byTask, r.IntN(1<<r.IntN(15)), func(p []byte) error { return writeAll(c, p) }) != nil {
			failed = true
			end.torn.Store(true)
			break
		}
		if r.IntN(3) == 0 {
			time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
		}
	}
	how := r.IntN(4)
	end.trace(fmt.Sprint("end ", how))
	switch how {
	case 0:
		_ = raw.(*net.TCPConn).SetLinger(0)
		_ = raw.Close()
	case 1, 2:
		failed = c.(interface{ CloseWrite() error }).CloseWrite() != nil || failed
	default:
		_ = c.Close()
	}
	// After a reset that a write has reported (of TLS's close-notify too), a read reports an end.
	if <-heard && !failed && how < 3 {
		end.ended()
	}
	return nil
}

// hearChaos reads, at its own pace, until the end, and tells whether that was an orderly one.
func hearChaos(c net.Conn, end *chaosEnd, seed uint64, heard chan<- bool) {
	r := rand.New(rand.NewPCG(seed, 0))
	slow := r.IntN(4) == 0
	p := make([]byte, 1+r.IntN(1<<15))
	for {
		n, err := c.Read(p)
		end.feed(p[:n])
		if err != nil {
			heard <- err == io.EOF
			return
		}
		if slow {
			time.Sleep(time.Millisecond)
		}
	}
}
