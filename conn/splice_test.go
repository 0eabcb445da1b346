package conn_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/conntest"
)

func TestASpliceCarriesEveryByteBothWays(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, early := range []bool{false, true} {
			p := newProxy(t, backend, workers)
			p.early.Store(early)
			const pairs = 6
			var sum [pairs][2]int
			conntest.Each(t, pairs, func(i int) error {
				r := rand.New(rand.NewPCG(uint64(i), 5))
				there, back := r.IntN(1<<(10+2*i)), r.IntN(1<<(20-2*i))
				if i == 0 {
					there, back = 12<<20, 3<<20 // enough to be spliced by the kernel
				}
				sum[i] = [2]int{there, back}
				c, err := dial(p.addr)
				if err != nil {
					return err
				}
				defer c.Close()
				// The first byte says which two connections are a pair.
				if _, err := c.Write([]byte{byte(i)}); err != nil {
					return err
				}
				o, err := p.accept()
				if err != nil {
					return err
				}
				defer o.Close()
				var id [1]byte
				if _, err := io.ReadFull(o, id[:]); err != nil {
					return err
				}
				j := int(id[0])
				rj := rand.New(rand.NewPCG(uint64(j), 5))
				tj, bj := rj.IntN(1<<(10+2*j)), rj.IntN(1<<(20-2*j))
				if j == 0 {
					tj, bj = 12<<20, 3<<20
				}
				errs := make(chan error, 4)
				go func() { errs <- speak(c.(*net.TCPConn), uint64(2*i), there, true) }()
				go func() { errs <- hear(c.(*net.TCPConn), uint64(2*i+1), back, true) }()
				go func() { errs <- speak(o.(*net.TCPConn), uint64(2*j+1), bj, true) }()
				go func() { errs <- hear(o.(*net.TCPConn), uint64(2*j), tj, true) }()
				for range 4 {
					if err := <-errs; err != nil {
						return err
					}
				}
				return nil
			})
			for _, err := range p.ended(pairs) {
				require.NoError(t, err)
			}
			var want, got [2]uint64
			for i, s := range p.splices(pairs) {
				b, a := s.Bytes()
				got[0], got[1] = got[0]+b, got[1]+a
				want[0], want[1] = want[0]+uint64(sum[i][0])+1, want[1]+uint64(sum[i][1])
			}
			require.Equal(t, want, got)
		}
	})
}

func TestASpliceHalfClosesEachWay(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newProxy(t, backend, workers)
		for i, n := range []int{0, 1, 100 << 10, 8 << 20} {
			client, origin := p.pair()
			together(t, func() error { return speak(client, 1, n, false) }, func() error { return hear(origin, 1, n, false) })
			// The client has finished, and is answered all the same.
			together(t, func() error { return speak(origin, 2, n, false) }, func() error { return hear(client, 2, n, false) })
			p.ended(2*i + 1)

			client, origin = p.pair()
			together(t, func() error { return speak(origin, 3, n, false) }, func() error { return hear(client, 3, n, false) })
			together(t, func() error { return speak(client, 4, n, false) }, func() error { return hear(origin, 4, n, false) })
			for _, err := range p.ended(2*i + 2) {
				require.NoError(t, err)
			}
		}
	})
}

// Both sides have spoken, and one has finished, before they are joined.
func TestASpliceBeginsWithWhatIsUnread(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, finished := range []bool{false, true} {
			origin := conntest.Listen(t)
			handles, banners := make(chan conn.Handle, 1), make(chan conn.Handle, 1)
			f := newFixture(t, backend, workers)
			f.listen("tcp", "127.0.0.1:0", funcs{eof: ignore, data: func(c *conn.Conn) error {
				if c.Buffered() == len("head unread") {
					_, _ = c.Discard(len("head "))
					handles <- c.Handle()
					return c.PauseRead()
				}
				return nil
			}})
			told := false
			_, err := f.Dial(origin.Addr(), f.audit.of(funcs{eof: ignore, data: func(c *conn.Conn) error {
				if !told && c.Buffered() == len("banner") {
					told = true
					banners <- c.Handle()
				}
				return nil
			}}))
			require.NoError(t, err)
			o, err := origin.Accept()
			require.NoError(t, err)
			defer o.Close()
			c := f.dial()
			write(t, c, "head unread")
			write(t, o, "banner")
			a, b := conntest.Receive(t, handles), conntest.Receive(t, banners)
			if finished {
				require.NoError(t, o.(*net.TCPConn).CloseWrite())
				settled(t, b)
			}
			errs := make(chan error, 1)
			require.NoError(t, a.Do(func(a *conn.Conn) {
				_, err := conn.Splice(a, b, nil)
				errs <- err
			}))
			require.NoError(t, conntest.Receive(t, errs))
			require.Equal(t, "banner", string(read(t, c, 6)))
			require.Equal(t, "unread", string(read(t, o, 6)))
			write(t, c, "more")
			require.Equal(t, "more", string(read(t, o, 4)))
			if !finished {
				require.NoError(t, o.(*net.TCPConn).CloseWrite())
			}
			require.Empty(t, readEOF(t, c))
			require.NoError(t, c.(*net.TCPConn).CloseWrite())
			require.Empty(t, readEOF(t, o))
			conntest.Eventually(t, func() bool { return f.Len() == 0 })
		}
	})
}

func TestASlowTakerBoundsWhatASpliceHolds(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const high, total = 128 << 10, 48 << 20
		p := newProxy(t, backend, workers, func(cfg *conn.Config) {
			cfg.HighWater, cfg.MaxMemory = high, 1<<30
			cfg.Reactor.Buffers, cfg.Reactor.BufferSize = 4, 64<<10
		})
		client, origin := p.pair()
		require.NoError(t, client.SetWriteBuffer(64<<10))
		require.NoError(t, origin.SetReadBuffer(64<<10))
		spoken := make(chan error, 1)
		go func() { spoken <- speak(client, 1, total, false) }()
		s := p.splices(1)[0]
		stuck := func() bool { // nothing moves any more
			before, _ := s.Bytes()
			time.Sleep(20 * time.Millisecond) // long enough for something to move, if anything can
			after, _ := s.Bytes()
			return before == after && before > 0
		}
		conntest.Eventually(t, func() bool { return stuck() && p.Buffered() > 0 })
		most := func() (most int) {
			for c := range p.Connections() {
				most = max(most, c.Unsent)
				require.NotEqual(t, conn.Handle{}, c.Spliced)
			}
			return most
		}
		// The bytes written and not sent, a pipe included. With the unread bytes it is at most the
		// reactors' memory more.
		require.LessOrEqual(t, most(), 4*high+64<<10)
		conntest.Eventually(t, func() bool { return p.Buffered() > 0 }) // it may have moved after all
		require.LessOrEqual(t, p.Buffered(), 4*high+64<<10+4*64<<10)
		// The other way is not held up.
		write(t, origin, "not held up")
		require.Equal(t, "not held up", string(read(t, client, 11)))
		require.NoError(t, hear(origin, 1, total, false))
		require.NoError(t, conntest.Receive(t, spoken))
		require.NoError(t, origin.Close())
		for _, err := range p.ended(1) {
			require.NoError(t, err)
		}
		require.Zero(t, p.Buffered())
	})
}

func TestAResetOfOneSideOfASpliceIsOneOfTheOther(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newProxy(t, backend, workers)
		for i, bulk := range []bool{false, true, false, true} {
			client, origin := p.pair()
			one, other := client, origin
			if i >= 2 {
				one, other = origin, client
			}
			wrote := make(chan error, 1)
			if bulk {
				go func() { _ = speak(one, 1, 64<<20, false) }()
				go func() { wrote <- speak(other, 2, 64<<20, false) }()
				read(t, origin, 4<<20)
				read(t, client, 4<<20)
			} else {
				write(t, client, "hello")
				read(t, origin, 5)
				wrote <- nil
			}
			reset(one)
			_, err := io.Copy(io.Discard, other)
			// The kernel tells whichever call comes first.
			requireReset(t, errors.Join(conn.Portable(err), conn.Portable(conntest.Receive(t, wrote))))
			causes := p.ended(i + 1)[2*i:]
			for _, err := range causes {
				require.Error(t, err)
				require.True(t, isReset(err), "%v", err)
			}
			require.Contains(t, fmt.Sprint(causes), "the other connection ended")
		}
	})
}

func isReset(err error) bool {
	for _, e := range []error{syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(conn.Portable(err), e) {
			return true
		}
	}
	return false
}

func TestClosingOneSideOfASpliceEndsBothOnceAllIsSent(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, which := range []int{0, 1} {
			p := newProxy(t, backend, workers)
			client, origin := p.pair()
			write(t, client, "there")
			require.Equal(t, "there", string(read(t, origin, 5)))
			write(t, origin, "back")
			require.Equal(t, "back", string(read(t, client, 4)))
			a, b := p.splices(1)[0].Handles()
			require.NoError(t, []conn.Handle{a, b}[which].Close())
			require.Empty(t, readEOF(t, client))
			require.Empty(t, readEOF(t, origin))
			require.NoError(t, client.Close())
			require.NoError(t, origin.Close())
			for _, err := range p.ended(1) {
				require.NoError(t, err)
			}
		}
	})
}

// All do random things. No peer gets another one's bytes, and nothing is left behind: the fixture
// and the guard look for connections and descriptors.
func TestManySplicesEndAtRandomWithoutLeaksOrCrossTalk(t *testing.T) {
	conntest.MatrixOf(t, []int{1, 2, 4}, func(t *testing.T, backend string, workers int) {
		p := newProxy(t, backend, workers)
		p.early.Store(workers == 2)
		n := 200 // pairs
		if testing.Short() {
			n = 50
		}
		conntest.ServeEach(p.origin, func(i int, c net.Conn) { originOf(c.(*net.TCPConn), i) })
		conntest.Each(t, n, func(i int) error {
			c, err := dial(p.addr)
			if err != nil {
				return err
			}
			defer c.Close()
			return mayEnd(chat(c.(*net.TCPConn), i))
		})
		conntest.Eventually(t, func() bool { return p.Len() == 0 })
		conntest.Eventually(t, func() bool { return int(p.done.Load()) == len(p.splices(0)) })
	})
}

// chat sends what only this one sends, and expects the same back, for as long as it
// pleases.
func chat(c *net.TCPConn, i int) error {
	r := rand.New(rand.NewPCG(uint64(i), uint64(time.Now().UnixNano())))
	total := 1 << r.IntN(21)
	errs := make(chan error, 1)
	go func() { errs <- speak(c, uint64(i), total, false) }()
	s, left := newPattern(uint64(i)), total
	if r.IntN(2) == 0 {
		left = r.IntN(total + 1) // leaves in the middle
	}
	_, err := io.CopyN(s, c, int64(left))
	if r.IntN(2) == 0 {
		reset(c)
	}
	_ = c.Close()
	<-errs
	return err
}

// originOf echoes, and every now and then goes away.
func originOf(c *net.TCPConn, i int) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(conntest.Patience))
	r := rand.New(rand.NewPCG(uint64(i), uint64(time.Now().UnixNano())))
	// By plain calls: package net keeps the pipes it splices with until a collection.
	from, to := struct{ io.Reader }{c}, struct{ io.Writer }{c}
	if r.IntN(4) == 0 {
		_, _ = io.CopyN(to, from, int64(r.IntN(1<<20)))
		if r.IntN(2) == 0 {
			reset(c)
		}
		return
	}
	_, _ = io.Copy(to, from)
}

// mayEnd lets pass what the other side may do.
func mayEnd(err error) error {
	if isReset(err) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func TestTimeOutsGoOnInASplice(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		t.Run("idle", func(t *testing.T) {
			conntest.Punctual(t, 200*time.Millisecond, func(idle time.Duration, _ func()) error {
				p := newProxy(t, backend, 2, func(cfg *conn.Config) { cfg.IdleTimeout = idle })
				client, origin := p.pair()
				if err := errors.Join(writeAll(client, []byte("hello")), take(origin, 5)); err != nil {
					return err
				}
				requireResetOnly(t, client)
				requireResetOnly(t, origin)
				require.NoError(t, client.Close())
				require.NoError(t, origin.Close())
				for _, err := range p.ended(1) {
					require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				}
				return nil
			})
		})
		t.Run("idle, but only one way", func(t *testing.T) {
			p := newProxy(t, backend, 2, func(cfg *conn.Config) { cfg.IdleTimeout = 2 * time.Second })
			client, origin := p.pair()
			together(t, func() error { return hear(origin, 1, 96<<20, false) }, func() error { return speak(client, 1, 96<<20, false) })
			require.NoError(t, origin.Close())
			for _, err := range p.ended(1) {
				require.NoError(t, err)
			}
		})
		for name, pipes := range map[string]bool{"write, through a pipe": true, "write, copied": false} {
			t.Run(name, func(t *testing.T) {
				conntest.Punctual(t, 400*time.Millisecond, func(limit time.Duration, alive func()) error {
					p := newProxy(t, backend, 2, func(cfg *conn.Config) {
						cfg.WriteTimeout = limit
						if !pipes {
							cfg.MaxPipes = -1
						}
					})
					client, origin := p.pair()
					wrote := make(chan error, 1)
					go func() { wrote <- speak(client, 1, math.MaxInt, false) }() // kernels may keep 64 MiB
					for range 16 {                                                // 4 MiB, and no more
						if err := take(origin, 256<<10); err != nil {
							return err
						}
						alive()
					}
					require.Error(t, conntest.Receive(t, wrote))
					for _, err := range p.ended(1) {
						require.ErrorIs(t, err, os.ErrDeadlineExceeded)
					}
					return nil
				})
			})
		}
	})
}

// Bulk data goes through a pipe, if there is one. Other data does not. A pipe that is not needed
// any more is free for another splice.
func TestOnlyABulkIsSplicedByTheKernel(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, pipes := range []bool{true, false} {
			if pipes && runtime.GOOS != "linux" {
				continue
			}
			p := newProxy(t, backend, workers, func(cfg *conn.Config) {
				if !pipes {
					cfg.MaxPipes = -1
				}
			})
			client, origin := p.pair()
			sent := make(chan error, 1)
			small := func() {
				for i := range 100 {
					m := fmt.Sprintf("message %d of a conversation", i)
					write(t, client, m)
					require.Equal(t, m, string(read(t, origin, len(m))))
				}
			}
			small()
			require.Zero(t, p.PipesUsed())
			for range 3 {
				conntest.Eventually(t, func() bool {
					go func() {
						_, err := client.Write(noise)
						sent <- err
					}()
					require.True(t, bytes.Equal(noise, read(t, origin, len(noise))))
					require.NoError(t, conntest.Receive(t, sent))
					return p.PipesUsed() == 1 || !pipes
				}, "a pipe")
				small()
				require.Zero(t, p.PipesUsed(), "small messages, and still a pipe")
			}
			require.NoError(t, client.Close())
			require.NoError(t, origin.Close())
			for _, err := range p.ended(1) {
				require.NoError(t, err)
			}
		}
	})
}

// Without a pipe, the buffers for bulk data are full, except where the received bytes end.
func TestABulkThatFillsItsBuffersIsSpliced(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newProxy(t, backend, workers, func(cfg *conn.Config) { cfg.MaxPipes = -1 })
		client, origin := p.pair()
		sent := make(chan error, 1)
		for i := range 64 {
			m := noise[:(1+i%4)*bufs.Large]
			go func() {
				_, err := client.Write(m)
				sent <- err
			}()
			require.True(t, bytes.Equal(m, read(t, origin, len(m))))
			require.NoError(t, conntest.Receive(t, sent))
		}
		require.NoError(t, client.Close())
		require.NoError(t, origin.Close())
		for _, err := range p.ended(1) {
			require.NoError(t, err)
		}
	})
}

func TestASpliceOfUnixSockets(t *testing.T) {
	conntest.Need(t, "unix")
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := newProxy(t, backend, 2)
		p.listen("unix", t.TempDir()+"/socket", p.handler())
		c := p.dial().(*net.UnixConn)
		o, err := p.accept()
		require.NoError(t, err)
		defer o.Close()
		const n = 24 << 20
		for range 2 { // there, and back
			sent := make(chan error, 2)
			go func() { _, err := io.CopyN(c, newPattern(1), n); sent <- err }()
			go func() { _, err := io.CopyN(o, newPattern(2), n); sent <- err }()
			_, err = io.CopyN(newPattern(1), o, n)
			require.NoError(t, err)
			_, err = io.CopyN(newPattern(2), c, n)
			require.NoError(t, err)
			require.NoError(t, conntest.Receive(t, sent))
			require.NoError(t, conntest.Receive(t, sent))
		}
		require.NoError(t, c.CloseWrite())
		require.Empty(t, readEOF(t, o))
		require.NoError(t, o.Close())
		require.Empty(t, readEOF(t, c))
		p.ended(1)
	})
}

func TestADialFromAConnectionBeginsWhereThatReceives(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		ln := conntest.Listen(t)
		begun := make(chan [2]int, 1)
		f := serve(t, backend, 4, funcs{data: leave, open: func(c *conn.Conn) error {
			c.Move((c.Worker() + 1) % 4) // runs elsewhere than it receives
			return nil
		}})
		for range 8 {
			f.dial()
		}
		conntest.Eventually(t, func() bool { return f.Len() == 8 && f.audit.opened.Load() == 8 })
		for c := range f.Connections() {
			settled(t, c.Handle) // it receives by then
			require.NoError(t, c.Handle.Do(func(c *conn.Conn) {
				h, err := c.Dial(ln.Addr(), f.audit.of(funcs{}))
				if err != nil {
					t.Error(err)
				}
				begun <- [2]int{c.Home(), h.Begun()}
			}))
			b := conntest.Receive(t, begun)
			require.Equal(t, b[0], b[1])
		}
	})
}

func TestASpliceWithADialThatFailsEndsWithItsError(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newProxy(t, backend, workers)
		p.early.Store(true)
		p.to.Store(nowhere(t))
		c, err := dial(p.addr)
		if err == nil { // else it was reset before it knew that it was there
			_, err = io.Copy(io.Discard, c)
			_ = c.Close()
		}
		require.True(t, err == nil || isReset(err), "%v", err)
		// If the dial has failed before the splice began, that was refused, and the accepted
		// connection aborted.
		conntest.Eventually(t, func() bool { return p.done.Load()+p.refused.Load() == 1 && p.Len() == 0 })
		refused := int(p.refused.Load())
		p.mu.Lock()
		defer p.mu.Unlock()
		require.Len(t, p.causes, 2)
		for _, err := range p.causes {
			if errors.Is(conn.Portable(err), syscall.ECONNREFUSED) {
				continue
			}
			require.Error(t, err)
			refused--
		}
		require.Zero(t, refused, "%v", p.causes)
	})
}

func TestWhatCannotBeSplicedIsRefused(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := newProxy(t, backend, 2)
		client, origin := p.pair()
		write(t, client, "x")
		read(t, origin, 1)
		a, b := p.splices(1)[0].Handles()
		other, elsewhere := make(chan conn.Handle, 1), make(chan conn.Handle, 1)
		p.listen("tcp", "127.0.0.1:0", funcs{open: func(c *conn.Conn) error { other <- c.Handle(); return nil }})
		third := p.dial()
		c := conntest.Receive(t, other)
		f := serve(t, backend, 1, funcs{open: func(c *conn.Conn) error { elsewhere <- c.Handle(); return nil }})
		f.dial()
		d := conntest.Receive(t, elsewhere)
		try := func(a, b conn.Handle) error {
			errs := make(chan error, 1)
			require.NoError(t, a.Do(func(a *conn.Conn) {
				_, err := conn.Splice(a, b, func(*conn.Spliced) { t.Error("done, of what was refused") })
				errs <- err
			}))
			return conntest.Receive(t, errs)
		}
		require.ErrorIs(t, try(a, c), conn.ErrSpliced)
		require.ErrorContains(t, try(c, c), "two connections")
		require.ErrorContains(t, try(c, d), "same Group")
		require.ErrorIs(t, try(c, conn.Handle{}), net.ErrClosed)
		write(t, third, "still there, and nobody's partner")
		settled(t, c)

		// One that is spliced already is known to be so by its task alone.
		errs := make(chan error, 1)
		require.NoError(t, c.Do(func(c *conn.Conn) {
			_, err := conn.Splice(c, b, func(*conn.Spliced) { close(errs) })
			if err != nil {
				t.Error(err)
			}
		}))
		conntest.Receive(t, errs)
		write(t, client, "y")
		require.Equal(t, "y", string(read(t, origin, 1)))
	})
}

// A handler's panic in the last call is no reason to leave the other end alone.
func TestAPanicAtTheEndOfASpliceDoesNotKeepItFromEnding(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := newProxy(t, backend, 2)
		client, origin := p.pair()
		a, _ := p.splices(1)[0].Handles()
		require.NoError(t, a.Do(func(c *conn.Conn) {
			_ = c.SetHandler(funcs{data: leave, close: func(*conn.Conn, error) { panic("of the handler") }})
		}))
		write(t, client, "x")
		read(t, origin, 1)
		reset(client)
		_, err := io.Copy(io.Discard, origin)
		requireReset(t, err)
		conntest.Eventually(t, func() bool { return p.done.Load() == 1 })
		// the panic is logged after the functions that it unwinds
		conntest.Eventually(t, func() bool { return p.log.Count("of the handler") == 1 })
		p.audit.conns.Clear() // the handler that was set is not audited
	})
}
