package conn_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// roaming are the configurations of a backend in which sequential handlers move between workers.
func roaming(t *testing.T, f func(t *testing.T, backend string, configure func(*conn.Config))) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		if reactor.NeedsThread(backend) {
			t.Skip("its coroutines stay on their threads")
		}
		t.Run("on any thread", func(t *testing.T) { f(t, backend, func(*conn.Config) {}) })
		t.Run("unlocked", func(t *testing.T) {
			f(t, backend, func(cfg *conn.Config) { cfg.Reactor.Unlocked = true })
		})
	})
}

// A blocker echoes. A handler that reads '!' blocks its worker until another one reads '?'.
type blocker struct {
	opened  sync.Map // by the client's address: the worker on which the function began
	blocked chan int // the worker
	leave   chan struct{}
	release func() // closes leave
}

func (b *blocker) serve(cx *sched.Context, s *conn.Stream) error {
	home := cx.Worker()
	b.opened.Store(s.RemoteAddr().String(), home)
	for p := make([]byte, 1000); ; {
		n, err := s.Read(p)
		if err != nil {
			return ignoreEOF(err)
		}
		switch {
		case bytes.IndexByte(p[:n], '!') >= 0:
			s.Move(home) // it may have gone elsewhere meanwhile
			if _, err := sched.Await(cx, sched.Yield()); err != nil {
				return err
			}
			b.blocked <- cx.Worker()
			<-b.leave
		case bytes.IndexByte(p[:n], '?') >= 0:
			b.release()
		}
		if _, err := s.Write(p[:n]); err != nil {
			return err
		}
	}
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// The handler that blocks a worker is released by a request to a handler that has begun there.
func TestSequentialHandlersGoOnWithoutTheirWorker(t *testing.T) {
	roaming(t, func(t *testing.T, backend string, configure func(*conn.Config)) {
		const each, pieces, size = 4, 5, 3000
		for _, workers := range []int{2, 4} {
			t.Run(fmt.Sprint(workers), func(t *testing.T) {
				b := &blocker{blocked: make(chan int, 1), leave: make(chan struct{})}
				b.release = sync.OnceFunc(func() { close(b.leave) })
				f := serve(t, backend, workers, conn.Sequential(b.serve), configure)
				t.Cleanup(b.release)
				var conns []net.Conn
				homes := make(map[int][]net.Conn)
				for range 100 * workers {
					c := f.dial()
					write(t, c, "x")
					read(t, c, 1)
					conns = append(conns, c)
					home, _ := b.opened.Load(c.LocalAddr().String())
					homes[home.(int)] = append(homes[home.(int)], c)
					if len(conns) >= each*workers && len(homes[0]) > 1 {
						break
					}
				}
				require.Greater(t, len(homes[0]), 1, "the connections begin on all workers")
				stuck := homes[0][0]
				write(t, stuck, "!")
				require.Zero(t, conntest.Receive(t, b.blocked))
				letters := bytes.Repeat([]byte("abcdefghijk"), pieces*size/11+1)
				for p := range pieces {
					for _, c := range conns {
						if c != stuck {
							write(t, c, string(letters[p*size:][:size]))
						}
					}
					for _, c := range conns {
						if c != stuck {
							require.Equal(t, letters[p*size:][:size], read(t, c, size))
						}
					}
				}
				late := f.dial()
				write(t, late, "y")
				read(t, late, 1)
				write(t, homes[0][1], "?")
				read(t, homes[0][1], 1)
				read(t, stuck, 1)
			})
		}
	})
}

// A Stream's functions go to another worker all the time, with others that take the completions,
// and keep the order of bytes. They read in place, write bytes that wait, and share data without a
// lock.
func TestAStreamsFunctionsMayRunOnAnyWorker(t *testing.T) {
	roaming(t, func(t *testing.T, backend string, configure func(*conn.Config)) {
		for _, workers := range []int{2, 4} {
			t.Run(fmt.Sprint(workers), func(t *testing.T) {
				var moved atomic.Int64
				f := serve(t, backend, workers, conn.Sequential(func(cx *sched.Context, s *conn.Stream) error {
					at := 0
					move := func(cx *sched.Context) {
						if cx.Worker() != at {
							moved.Add(1)
							at = cx.Worker()
						}
						s.Move(rand.IntN(workers))
					}
					var queue [][]byte // from one function to the other
					over, writing := false, false
					writer := s.Go(func(cx *sched.Context) error {
						for {
							_, err := sched.Await(cx, future(func(*sched.Context) (struct{}, error) {
								if len(queue) == 0 && !over {
									return struct{}{}, sched.ErrPending // each turn looks
								}
								return struct{}{}, nil
							}))
							if err != nil || len(queue) == 0 {
								return err
							}
							p := queue[0]
							queue = queue[1:]
							move(cx)
							writing = true
							_, err = s.Write(p)
							if writing = false; err != nil {
								return err
							}
						}
					})
					for {
						move(cx)
						if _, err := s.Peek(1); err != nil {
							over = true
							if err := writer.Join(cx); err != nil {
								return err
							}
							return ignoreEOF(err)
						}
						p, err := s.Next(max(1, s.Buffered()))
						if err != nil {
							return err
						}
						if len(queue) > 0 || writing || rand.IntN(2) == 0 {
							queue = append(queue, bytes.Clone(p))
						} else if _, err := s.Write(p); err != nil { // from where it lies
							return err
						}
					}
				}), configure, func(cfg *conn.Config) { cfg.HighWater = 16 << 10 })
				stop := f.rescuers()
				crowd(t, f, 12)
				stop()
				require.Positive(t, moved.Load())
			})
		}
	})
}

// Stacks and goroutines do not grow with connections that begin on one worker and end on another.
func TestStacksOfSequentialHandlersThatMoveAreFreed(t *testing.T) {
	roaming(t, func(t *testing.T, backend string, configure func(*conn.Config)) {
		const workers = 4
		f := serve(t, backend, workers, conn.Sequential(func(cx *sched.Context, s *conn.Stream) error {
			p := make([]byte, 100)
			for {
				s.Move(cx.Worker() + 1)
				n, err := s.Read(p)
				if err != nil {
					return ignoreEOF(err)
				}
				if _, err := s.Write(p[:n]); err != nil {
					return err
				}
			}
		}), configure)
		const times, each = 5, 200
		for range times {
			f.each(each, func(_ int, c net.Conn) error {
				for range 10 {
					if _, err := c.Write([]byte("ping")); err != nil {
						return err
					}
					if _, err := io.ReadFull(c, make([]byte, 4)); err != nil {
						return err
					}
				}
				return nil
			})
			conntest.Eventually(t, func() bool { return f.Len() == 0 })
		}
		conntest.Eventually(t, func() bool { return f.Runtime().Stats().Total.Coroutines == 0 })
		reused := f.Runtime().Stats().Total.CoroutinesReused
		require.GreaterOrEqual(t, reused, uint64((times-2)*each))
	})
}
