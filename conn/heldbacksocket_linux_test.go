package conn_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A slowSide serves one connection: it calls use with the connection and a function that waits. It
// returns the peer of the connection.
type slowSide func(t *testing.T, backend string, configure func(*conn.Config), use func(c net.Conn, sleep func(time.Duration))) net.Conn

// slowSides are the ways to read a connection other than a Stream without TLS.
func slowSides(s *secret) map[string]slowSide {
	accept := func(f *fixture, use func(c net.Conn)) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		go func() {
			if c, err := l.Accept(); err == nil {
				defer c.Close()
				use(c)
			}
		}()
	}
	stream := func(use func(net.Conn, func(time.Duration))) conn.Handler {
		return conn.Sequential(func(cx *sched.Context, s *conn.Stream) error {
			use(s, func(d time.Duration) { _, _ = sched.Await(cx, sched.Sleep(d)) })
			return nil
		})
	}
	return map[string]slowSide{
		"Socket": func(t *testing.T, backend string, configure func(*conn.Config), use func(net.Conn, func(time.Duration))) net.Conn {
			f := newFixture(t, backend, 2, configure)
			accept(f, func(c net.Conn) { use(c, time.Sleep) })
			return f.dial()
		},
		"TLS over a Socket": func(t *testing.T, backend string, configure func(*conn.Config), use func(net.Conn, func(time.Duration))) net.Conn {
			f := newFixture(t, backend, 2, configure)
			accept(f, func(c net.Conn) { use(tls.Server(c, s.server.Config), time.Sleep) })
			return tls.Client(f.dial(), s.client) // its first write shakes hands, in the time that Punctual measures
		},
		"TLS of a Stream": func(t *testing.T, backend string, configure func(*conn.Config), use func(net.Conn, func(time.Duration))) net.Conn {
			return tls.Client(covered(t, backend, 2, s.server, stream(use), configure).dial(), s.client)
		},
	}
}

// The peer sends a request and waits for the answer. It is not idle while this side reads slowly:
// neither if bytes wait in the kernel, nor if all of them wait here.
func TestAPeerThatASocketOrTLSReadsSlowlyIsNotIdle(t *testing.T) {
	const piece, pieces = 256, 40
	s := newSecret(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, serves := range slowSides(s) {
			for where, size := range map[string]int{"in the kernel": 512 << 10, "here": 2 * piece * pieces} {
				t.Run(name+"/"+where, func(t *testing.T) {
					conntest.Punctual(t, 100*time.Millisecond, func(limit time.Duration, alive func()) error {
						result := make(chan error, 1)
						peer := serves(t, backend, func(cfg *conn.Config) {
							cfg.IdleTimeout, cfg.LingerTimeout = limit, limit
							cfg.HighWater, cfg.LowWater = 4<<10, 1<<10
						}, func(c net.Conn, sleep func(time.Duration)) {
							p := make([]byte, size)
							for i := range pieces { // four times the limit in all
								if _, err := io.ReadFull(c, p[:piece]); err != nil {
									result <- fmt.Errorf("piece %d: %w", i, err)
									return
								}
								alive()
								sleep(limit / 10)
							}
							_, err := io.ReadFull(c, p[pieces*piece:])
							if err == nil {
								_, err = io.WriteString(c, "answer")
							}
							result <- err
							_, _ = c.Read(p)
						})
						defer peer.Close()
						alive()
						if err := speakPart(peer, size); err != nil {
							return err
						}
						if err := conntest.Receive(t, result); err != nil {
							return err
						}
						answer, err := io.ReadAll(peer) // now it is idle
						if err == nil && string(answer) != "answer" {
							err = fmt.Errorf("it has got %q", answer)
						}
						return err
					})
				})
			}
		}
	})
}
