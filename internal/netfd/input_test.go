package netfd_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/internal/netfd"
	"github.com/suiro-go/suiro/internal/readiness"
	"github.com/suiro-go/suiro/sched"
)

const inPlace = 1 << 20

// input is an Input and the peer of its FD.
func (f *fixture) input() (*netfd.Input, *netfd.FD, *net.TCPConn) {
	f.Helper()
	fd, c := f.pair(nil)
	return netfd.NewInput(fd, inPlace), fd, c
}

// Calls of all kinds and sizes, by turns, see each byte once and in its place. Some have a context
// that ends meanwhile.
func TestAnInputReadsEachByteOnce(t *testing.T) {
	rules := conntest.Fail(syscall.EAGAIN, 0.2, faults.Recv)
	rules = append(rules, conntest.Fail(0, 0.3, faults.Recv)...)
	for name, rules := range map[string][]faults.Rule{"": nil, " with faults": rules} {
		conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
			plan := conntest.Faults(t, rules...)
			f := newFixture(t, backend, workers, func(cfg *conn.Config) { faults.Into(&cfg.Reactor, plan) })
			defer plan.Stop()
			in, fd, c := f.input()
			go func() {
				r := rand.New(rand.NewPCG(1, 2))
				for sent := 0; sent < len(noise); {
					n := min(1+r.IntN(1<<r.IntN(18)), len(noise)-sent)
					if _, err := c.Write(noise[sent : sent+n]); err != nil {
						return
					}
					sent += n
				}
				_ = c.CloseWrite()
			}()
			read := 0
			err := f.run(func(cx *sched.Context) error {
				r := rand.New(rand.NewPCG(3, uint64(workers)))
				p := make([]byte, 1<<16)
				for {
					var got []byte
					var err error
					var ctx context.Context = cx
					cancel := func() {}
					if r.IntN(4) == 0 {
						ctx, cancel = context.WithCancel(cx)
						go cancel()
					}
					n := 1 + r.IntN(1<<r.IntN(16))
					kind := r.IntN(6)
					switch kind {
					case 0:
						n, err = in.Read(ctx, p[:n])
						got = p[:n]
					case 1:
						got, err = in.Next(ctx, n)
					case 2:
						got, err = in.Next(ctx, -1)
					case 3:
						n, err = in.Discard(ctx, n)
						got = noise[read : read+n]
					case 4:
						n, err = in.Discard(ctx, -1)
						got = noise[read : read+n]
					default:
						got, err = in.Peek(ctx, n)
					}
					if string(got) != string(noise[read:read+len(got)]) {
						return fmt.Errorf("call %d: other bytes at %d", kind, read)
					}
					if kind != 5 {
						read += len(got)
					}
					cancel()
					switch {
					case err == io.EOF && read == len(noise):
						return nil
					case err == io.ErrUnexpectedEOF && read+in.Buffered() == len(noise), errors.Is(err, context.Canceled):
					case err != nil:
						return fmt.Errorf("call %d at %d: %w", kind, read, err)
					}
				}
			})
			require.NoError(t, err, name)
			require.Equal(t, len(noise), read, name)
			require.NoError(t, fd.Close())
		})
	}
}

// A call that waits for the first byte has no memory for it: it has none when its context ends. The
// memory of bytes that were returned in place is given back by the next call.
func TestAnInputThatWaitsHasNoMemory(t *testing.T) {
	matrix(t, func(f *fixture) {
		in, fd, c := f.input()
		for _, n := range []int{-1, 5} {
			cancels := make(chan context.CancelFunc, 1)
			h := f.spawn(func(cx *sched.Context) error {
				ctx, cancel := context.WithCancel(cx)
				cancels <- cancel
				_, err := in.Next(ctx, n)
				return err
			})
			f.waits(fd, netfd.In)
			conntest.Receive(f.T, cancels)()
			require.ErrorIs(f, f.wait(h), context.Canceled)
			require.False(f, netfd.HasMemory(in))
			_, err := c.Write([]byte("hello"))
			require.NoError(f, err)
			p, err := in.Next(f.Context(), n)
			require.NoError(f, err)
			require.Equal(f, "hello", string(p))
			require.True(f, netfd.HasMemory(in), "the bytes are in use")
		}
		require.NoError(f, c.CloseWrite())
		_, err := in.Peek(f.Context(), 1)
		require.Equal(f, io.EOF, err)
		require.False(f, netfd.HasMemory(in))
	})
}

// If much is there, it is received in large pieces.
func TestAnInputReceivesMuchAtOnce(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		plan := conntest.Faults(t, faults.Rule{Call: faults.Recv, Errno: syscall.EAGAIN}) // which never strikes
		f := newFixture(t, backend, 1, func(cfg *conn.Config) { faults.Into(&cfg.Reactor, plan) })
		defer plan.Stop()
		in, _, c := f.input()
		const all, small = 256 << 10, 4 << 10
		_, err := c.Write(noise[:all])
		require.NoError(t, err)
		for read := 0; read < all; {
			p, err := in.Next(t.Context(), -1)
			require.NoError(t, err)
			read += len(p)
		}
		require.Less(t, plan.Made(faults.Recv), all/small/2)
	})
}

// The bytes before the end can be read, and the end stays.
func TestTheEndOfAnInputComesAfterItsBytes(t *testing.T) {
	matrix(t, func(f *fixture) {
		ctx := f.Context()
		for name, c := range map[string]struct {
			end   func(c *net.TCPConn) error
			last  error // once nothing is left
			short error // while something is
		}{
			"FIN":   {(*net.TCPConn).CloseWrite, io.EOF, io.ErrUnexpectedEOF},
			"reset": {func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) }, syscall.ECONNRESET, syscall.ECONNRESET},
		} {
			in, fd, peer := f.input()
			_, err := peer.Write([]byte("abc"))
			require.NoError(f, err)
			p, err := in.Peek(ctx, 3)
			require.NoError(f, err)
			require.Equal(f, "abc", string(p))
			require.NoError(f, c.end(peer))
			p, err = in.Peek(ctx, 4)
			require.ErrorIs(f, err, c.short, name)
			require.Equal(f, "abc", string(p), name)
			p, err = in.Next(ctx, 4)
			require.ErrorIs(f, err, c.short, name)
			require.Empty(f, p)
			n, err := in.Discard(ctx, 1)
			require.NoError(f, err, name)
			require.Equal(f, 1, n)
			p, err = in.Next(ctx, -1)
			require.NoError(f, err, name)
			require.Equal(f, "bc", string(p), name)
			for range 2 {
				_, err = in.Read(ctx, make([]byte, 1))
				require.ErrorIs(f, err, c.last, name)
				_, err = in.Peek(ctx, -1)
				require.ErrorIs(f, err, c.last, name)
				_, err = in.Discard(ctx, 1)
				require.ErrorIs(f, err, c.last, name)
			}
			require.NoError(f, fd.Close())
			_, err = in.Peek(ctx, 1)
			require.ErrorIs(f, err, net.ErrClosed, name)
		}
	})
}

// The kernel tells of a reset once.
func TestAnInputTellsOfAResetEachTime(t *testing.T) {
	matrix(t, func(f *fixture) {
		in, _, c := f.input()
		require.NoError(f, c.SetLinger(0))
		require.NoError(f, c.Close())
		for range 3 {
			_, err := in.Read(f.Context(), make([]byte, 1))
			require.ErrorIs(f, err, syscall.ECONNRESET)
		}
	})
}

func TestAnInputHasSoManyBytesInPlace(t *testing.T) {
	matrix(t, func(f *fixture) {
		fd, c := f.pair(nil)
		in := netfd.NewInput(fd, 10)
		_, err := c.Write(noise[:20])
		require.NoError(f, err)
		p, err := in.Peek(f.Context(), 10)
		require.NoError(f, err)
		require.Equal(f, noise[:10], p)
		require.Equal(f, 20, in.Buffered())
		_, err = in.Next(f.Context(), 21)
		require.ErrorIs(f, err, io.ErrShortBuffer)
		p, err = in.Next(f.Context(), 20)
		require.NoError(f, err, "they are there")
		require.Equal(f, noise[:20], p)
	})
}

// A deadline ends a call, also one that would not wait. The buffered bytes stay.
func TestTheDeadlineOfAnInputLosesNothing(t *testing.T) {
	matrix(t, func(f *fixture) {
		in, fd, c := f.input()
		_, err := c.Write([]byte("abc"))
		require.NoError(f, err)
		_, err = in.Peek(f.Context(), 3)
		require.NoError(f, err)
		h := f.spawn(func(cx *sched.Context) error {
			p, err := in.Peek(cx, 4)
			if string(p) != "abc" {
				return fmt.Errorf("%q is there", p)
			}
			return err
		})
		f.waits(fd, netfd.In)
		fd.SetDeadline(netfd.In, f.group.Runtime().Now()+time.Nanosecond)
		require.ErrorIs(f, f.wait(h), os.ErrDeadlineExceeded)
		_, err = in.Read(f.Context(), make([]byte, 1))
		require.ErrorIs(f, err, os.ErrDeadlineExceeded)
		fd.SetDeadline(netfd.In, 0)
		p, err := in.Next(f.Context(), -1)
		require.NoError(f, err)
		require.Equal(f, "abc", string(p))
	})
}

func TestASecondReaderOfAnInputIsRefused(t *testing.T) {
	matrix(t, func(f *fixture) {
		in, fd, c := f.input()
		first := f.spawn(func(cx *sched.Context) error {
			_, err := in.Peek(cx, 1)
			return err
		})
		f.waits(fd, netfd.In)
		for _, call := range []func(ctx context.Context) error{
			func(ctx context.Context) error { _, err := in.Read(ctx, make([]byte, 1)); return err },
			func(ctx context.Context) error { _, err := in.Next(ctx, 1); return err },
			func(ctx context.Context) error { _, err := in.Discard(ctx, 1); return err },
		} {
			require.ErrorIs(f, call(f.Context()), readiness.ErrInUse)
		}
		_, err := c.Write([]byte("x"))
		require.NoError(f, err)
		require.NoError(f, f.wait(first))
	})
}
