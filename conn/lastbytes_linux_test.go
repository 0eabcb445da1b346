package conn_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/sched"
)

// roomyListener is one whose connections hold so many bytes in the kernel.
func roomyListener(t *testing.T, size int) net.Listener {
	t.Helper()
	roomy := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 2*size) })
	}}
	ln, err := roomy.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return ln
}

// acknowledged waits until the peer's kernel has everything that was written to c.
func acknowledged(t *testing.T, c *net.TCPConn) {
	t.Helper()
	raw, err := c.SyscallConn()
	require.NoError(t, err)
	conntest.Eventually(t, func() bool {
		left, asked := 0, error(nil)
		require.NoError(t, raw.Control(func(fd uintptr) { left, asked = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) }))
		require.NoError(t, asked)
		return left == 0
	})
}

// A peer that resets takes back nothing that it has sent before. The other one gets all of that,
// and then a reset.
func TestASplicePassesOnAllThatArrivedBeforeAReset(t *testing.T) {
	s := newSecret(t)
	for _, secure := range []struct{ front, back bool }{{}, {true, false}, {false, true}, {true, true}} {
		t.Run(fmt.Sprintf("TLS accepted %v, dialed %v", secure.front, secure.back), func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				origin := silentTCP(t)
				f := tlsSplice(t, backend, workers, s, origin.Addr(), secure.front, secure.back)
				for i := range 12 {
					size := []int{60 << 10, 1 << 20}[i%2]
					raw := f.dial()
					client, arrived := net.Conn(raw), make(chan error, 1)
					if secure.front {
						c := tls.Client(raw, s.client)
						go func() { arrived <- c.Handshake() }()
						client = c
					} else {
						arrived <- nil
					}
					upRaw := acceptTCP(t, origin)
					up := net.Conn(upRaw)
					if secure.back {
						up = tls.Server(upRaw, s.server.Config)
					}
					write(t, up, string(noise[:size]))
					require.NoError(t, conntest.Receive(t, arrived))
					acknowledged(t, upRaw)
					reset(upRaw)
					got, err := io.ReadAll(client)
					require.Equal(t, size, len(got), "round %d: %v", i, err)
					require.Equal(t, noise[:size], got)
					requireReset(t, err)
					_ = raw.Close()
				}
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
			})
		})
	}
}

// Else the other connection might have received, and ended by a reset, before it is spliced.
func TestADialOfAHandlerBeginsWhenItsMethodReturns(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		origin := silentTCP(t).(*net.TCPListener)
		dialed, release := make(chan error, 1), make(chan struct{})
		f := serve(t, backend, 2, funcs{open: func(a *conn.Conn) error {
			_, err := a.Dial(origin.Addr(), funcs{})
			dialed <- err
			<-release
			return err
		}})
		goOn := sync.OnceFunc(func() { close(release) })
		defer goOn()
		f.dial()
		require.NoError(t, conntest.Receive(t, dialed))
		require.NoError(t, origin.SetDeadline(time.Now().Add(50*time.Millisecond)))
		_, err := origin.Accept()
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		goOn()
		require.NoError(t, origin.SetDeadline(time.Time{}))
		acceptTCP(t, origin)
	})
}

func TestCloseByResetComesAfterAllThatWasWritten(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		ended := make(chan error, 1)
		f.listen("tcp", "127.0.0.1:0", funcs{open: func(c *conn.Conn) error {
			_, err := c.Write(noise)
			c.CloseByReset(errTest)
			c.CloseByReset(io.EOF)
			return err
		}, close: func(_ *conn.Conn, err error) { ended <- err }})
		c := f.dial()
		conntest.Eventually(t, func() bool { return f.Len() == 1 })
		f.rounds(5) // it is closing, and the peer has not read
		got, err := io.ReadAll(c)
		requireReset(t, err)
		require.Equal(t, noise, got)
		require.ErrorIs(t, conntest.Receive(t, ended), errTest)
	})
}

// sendAndClose is some clients of the Unix server at path. Each sends requests, reads no answer,
// and closes.
func sendAndClose(t *testing.T, path string, clients, requests int, request []byte) {
	t.Helper()
	for range clients {
		c, err := net.Dial("unix", path)
		require.NoError(t, err)
		for range requests {
			write(t, c, string(request))
		}
		require.NoError(t, c.Close())
	}
}

// A client that sends and closes, without a look at the answers, makes the sends of those fail. All
// that it has sent is handled all the same.
func TestWhatAPeerSentBeforeItClosedIsHandledThoughAnswersFail(t *testing.T) {
	const size, clients = 1000, 10
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, way := range []string{"Write", "Flush", "large answers", "splice"} {
			t.Run(way, func(t *testing.T) {
				var handled, ended atomic.Int64
				requests := 400
				answer := []byte("ok\n")
				if way == "large answers" { // two are more than HighWater; the kernel holds all requests
					requests, answer = 50, noise[:200<<10]
				}
				path := filepath.Join(t.TempDir(), "s")
				f := newFixture(t, backend, workers, func(cfg *conn.Config) {
					cfg.MaxWrite = max(4<<20, requests*len(answer)) // all may come in one OnData
				})
				counting := funcs{data: func(c *conn.Conn) error {
					for c.Buffered() >= size {
						_, _ = c.Discard(size)
						handled.Add(1)
						if _, err := c.Write(answer); err != nil {
							return err
						}
						if way == "Flush" {
							if err := c.Flush(); err != nil {
								return err
							}
						}
					}
					return nil
				}, eof: (*conn.Conn).Close, close: func(*conn.Conn, error) { ended.Add(1) }}
				if way == "splice" {
					f.listen("tcp", "127.0.0.1:0", counting)
					to := f.addr
					counting = funcs{data: leave, eof: ignore, open: func(a *conn.Conn) error {
						b, err := a.Dial(to, funcs{data: leave, eof: ignore})
						if err == nil {
							_, err = conn.Splice(a, b, nil)
						}
						return err
					}}
				}
				f.listen("unix", path, counting)
				sendAndClose(t, path, clients, requests, noise[:size])
				conntest.Eventually(t, func() bool { return ended.Load() == clients && f.Len() == 0 })
				require.EqualValues(t, clients*requests, handled.Load())
			})
		}
	})
}

// Functions, other tasks and goroutines read all that such a client has sent, as from package net's
// connections: also those that wait for room when their write fails.
func TestReadersGetWhatAPeerSentBeforeItClosedThoughAnswersFail(t *testing.T) {
	const size, clients = 1000, 10
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, large := range []bool{false, true} {
			requests, answer := 200, []byte("ok\n") // the kernel has room for all answers
			if large {
				requests, answer = 50, noise[:200<<10]
			}
			for _, way := range []string{"function", "another task", "goroutine"} {
				t.Run(fmt.Sprintf("%s, large=%v", way, large), func(t *testing.T) {
					var handled, ended atomic.Int64
					serve := func(s io.ReadWriter, flush func() error) {
						defer ended.Add(1)
						failed := false
						for p := make([]byte, size); ; handled.Add(1) {
							if _, err := io.ReadFull(s, p); err != nil {
								return
							}
							_, err := s.Write(answer)
							if err == nil {
								err = flush()
							}
							if failed && err == nil {
								t.Error("a write after one that has failed has not")
							}
							failed = err != nil
						}
					}
					f := newFixture(t, backend, workers)
					path := filepath.Join(t.TempDir(), "s")
					switch way {
					case "function":
						f.listen("unix", path, conn.Sequential(func(_ *sched.Context, s *conn.Stream) error {
							serve(s, s.Flush)
							return nil
						}))
					case "another task":
						f.listen("unix", path, conn.Sequential(func(cx *sched.Context, s *conn.Stream) error {
							cx.Shield() // else the end of the connection ends the wait
							_, err := sched.Await(cx, sched.Go(cx.Runtime(), func(cx *sched.Context) (bool, error) {
								s := s.Bind(cx)
								serve(s, s.Flush)
								return true, nil
							}))
							return err
						}))
					default:
						l := f.open("unix", conn.SocketListenerConfig{})
						path = f.addr.String()
						go func() {
							for {
								s, err := l.Accept()
								if err != nil {
									return
								}
								go func() {
									serve(s, func() error { return nil })
									_ = s.Close()
								}()
							}
						}()
					}
					sendAndClose(t, path, clients, requests, noise[:size])
					conntest.Eventually(t, func() bool { return ended.Load() == clients && f.Len() == 0 })
					require.EqualValues(t, clients*requests, handled.Load())
				})
			}
		}
	})
}

// A receive may end together with the send that fails, since the reactor has no buffer for the
// rest. The bytes of both are read.
func TestWhatArrivesWithTheLastBufferIsReadThoughASendFails(t *testing.T) {
	const size, requests = 1000, 150
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1, func(cfg *conn.Config) { cfg.Reactor.Buffers, cfg.Reactor.BufferSize = 2, 32<<10 })
		begun, goOn := make(chan struct{}), make(chan struct{})
		release := sync.OnceFunc(func() { close(goOn) })
		defer release()
		var handled atomic.Int64
		path := filepath.Join(t.TempDir(), "s")
		f.listen("unix", path, conn.Sequential(func(_ *sched.Context, s *conn.Stream) error {
			for p := make([]byte, size); ; {
				if _, err := io.ReadFull(s, p); err != nil {
					return nil
				}
				if handled.Add(1) == 2 { // the first run of a connection receives by itself
					close(begun)
					<-goOn // the worker is stuck
				}
				_, _ = s.Write([]byte("ok\n"))
			}
		}))
		c, err := net.Dial("unix", path)
		require.NoError(t, err)
		write(t, c, string(noise[:size]))
		read(t, c, len("ok\n"))
		write(t, c, string(noise[:size]))
		conntest.Receive(t, begun)
		write(t, c, string(noise[:size*(requests-2)]))
		require.NoError(t, c.Close())
		release()
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.EqualValues(t, requests, handled.Load())
	})
}

// A reset may be received before the send in flight has failed. The requests that arrived before it
// are handled then, and the answers to them do not fill the queue.
func TestWhatAPeerSentBeforeItsResetIsHandledThoughASendIsInFlight(t *testing.T) {
	const size, requests = 4000, 60
	conntest.Backends(t, func(t *testing.T, backend string) {
		if backend != "io_uring" {
			t.Skip("it receives nothing while the connection is paused")
		}
		plan := conntest.Faults(t, faults.Rule{Call: faults.Send, Errno: syscall.EAGAIN, Every: 1})
		var handled atomic.Int64
		ended := make(chan error, 1)
		f := newFixture(t, backend, 1, func(cfg *conn.Config) { faults.Into(&cfg.Reactor, plan) })
		f.listenOn(roomyListener(t, size*requests), funcs{data: func(c *conn.Conn) error {
			for c.Buffered() >= size {
				_, _ = c.Discard(size)
				handled.Add(1)
				if _, err := c.Write(noise[:200<<10]); err != nil {
					return err
				}
			}
			return nil
		}, close: func(_ *conn.Conn, err error) { ended <- err }})
		c := f.dial()
		conntest.Eventually(t, func() bool { return f.Len() == 1 })
		f.rounds(5) // it receives
		release := f.stick(0)
		for range requests {
			write(t, c, string(noise[:size]))
		}
		acknowledged(t, c.(*net.TCPConn))
		reset(c)
		release()
		require.ErrorIs(t, conntest.Receive(t, ended), syscall.ECONNRESET)
		require.EqualValues(t, requests, handled.Load())
	})
}

// splice(2) returns 0 at an urgent byte, as at the end.
func TestAnUrgentByteDoesNotEndABulkSplice(t *testing.T) {
	const before, after = 8 << 20, 1 << 20
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for range 5 {
			p := newProxy(t, backend, workers)
			client, origin := p.pair()
			sent := make(chan error, 1)
			go func() {
				err := speakPart(client, before)
				raw, _ := client.SyscallConn()
				_ = raw.Write(func(fd uintptr) bool {
					urgent := unix.Sendto(int(fd), []byte("!"), unix.MSG_OOB, nil)
					if errors.Is(urgent, unix.EAGAIN) {
						return false
					}
					err = errors.Join(err, urgent)
					return true
				})
				sent <- errors.Join(err, speakPart(client, after), client.CloseWrite())
			}()
			n, err := io.Copy(io.Discard, origin)
			require.NoError(t, err)
			require.NoError(t, conntest.Receive(t, sent))
			require.EqualValues(t, before+after, n)
		}
	})
}

// speakPart writes so many bytes.
func speakPart(c net.Conn, n int) error {
	for ; n > 0; n -= len(noise) {
		if _, err := c.Write(noise[:min(n, len(noise))]); err != nil {
			return err
		}
	}
	return nil
}

// An inPlace reads the bytes in place.
type inPlace struct{ s *conn.Stream }

func (r inPlace) Read(p []byte) (int, error) {
	b, err := r.s.Peek(-1)
	if err != nil {
		return 0, err
	}
	return r.s.Discard(copy(p, b))
}

// Bytes and a reset that come in one run of the task are all for the Socket or Stream, although the
// first of them fill its window.
func TestALateReaderHasAllThatArrivedBeforeAReset(t *testing.T) {
	const size = 150 << 10 // as much as a socket can keep by Linux' default of net.core.rmem_max
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, way := range []string{"lent", "sequential", "shared", "shared, in place"} {
			t.Run(way, func(t *testing.T) {
				f := newFixture(t, backend, 1, func(cfg *conn.Config) { cfg.HighWater, cfg.LowWater = size/2, size/4 })
				ln := roomyListener(t, size)
				l, begun := newLender(), make(chan struct{})
				type result struct {
					got []byte
					err error
				}
				ended := make(chan result, 1)
				readAll := func(from io.Reader) {
					_, _ = io.ReadFull(from, make([]byte, 4))
					close(begun)
					got, err := io.ReadAll(from)
					ended <- result{got, err}
				}
				if way == "lent" {
					f.listenOn(ln, l)
				} else {
					f.listenOn(ln, conn.Sequential(func(_ *sched.Context, s *conn.Stream) error {
						if way != "sequential" {
							_ = s.Socket()
						}
						if way == "shared, in place" {
							readAll(inPlace{s})
						} else {
							readAll(s)
						}
						return nil
					}))
				}
				c := f.dial()
				write(t, c, "lend")
				if way == "lent" {
					go readAll(conntest.Receive(t, l.lent))
				}
				conntest.Receive(t, begun)
				release := f.stick(0)
				write(t, c, string(noise[:size]))
				acknowledged(t, c.(*net.TCPConn))
				reset(c)
				release()
				r := conntest.Receive(t, ended)
				requireReset(t, r.err)
				require.Equal(t, size, len(r.got))
			})
		}
	})
}
