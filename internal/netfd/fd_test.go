package netfd_test

import (
	"bytes"
	"context"
	"io"
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

// echo sends back what it reads, to the end.
func echo(ctx context.Context, fd *netfd.FD) error {
	p := make([]byte, 4<<10)
	for {
		n, err := fd.Read(ctx, p)
		if err == io.EOF {
			return fd.CloseWrite()
		}
		if err != nil {
			return err
		}
		if _, err := fd.Write(ctx, p[:n]); err != nil {
			return err
		}
	}
}

// converse sends noise and expects it back.
func (f *fixture) converse(c *net.TCPConn) {
	f.Helper()
	go func() {
		_, _ = c.Write(noise)
		_ = c.CloseWrite()
	}()
	got, err := io.ReadAll(c)
	require.NoError(f, err)
	require.True(f, bytes.Equal(noise, got), "%d bytes", len(got))
}

func TestATaskEchoes(t *testing.T) {
	matrix(t, func(f *fixture) {
		for _, outside := range []bool{false, true} {
			opened := make(chan *net.TCPConn, 1)
			h := f.spawn(func(cx *sched.Context) error {
				own := cx
				if outside { // as if a goroutine had opened it
					own = nil
				}
				fd, c := f.pair(own)
				opened <- c
				defer func() { _ = fd.Close() }()
				return echo(cx, fd)
			})
			f.converse(conntest.Receive(f.T, opened))
			require.NoError(f, f.wait(h))
		}
	})
}

func TestAGoroutineEchoes(t *testing.T) {
	matrix(t, func(f *fixture) {
		fd, c := f.pair(nil)
		done := make(chan error, 1)
		go func() { done <- echo(f.Context(), fd) }()
		f.converse(c)
		require.NoError(f, conntest.Receive(f.T, done))
	})
}

func TestEveryByteComesBackUnderFaults(t *testing.T) {
	rules := conntest.Fail(syscall.EAGAIN, 0.2, faults.Recv, faults.Send)
	rules = append(rules, conntest.Fail(syscall.EINTR, 0.1, faults.Recv, faults.Send, faults.Wait)...)
	rules = append(rules, conntest.Fail(syscall.ENOBUFS, 0.02, faults.Recv, faults.Send)...)
	rules = append(rules, conntest.Fail(0, 0.3, faults.Recv, faults.Send)...)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		plan := conntest.Faults(t, rules...)
		f := newFixture(t, backend, workers, func(cfg *conn.Config) { faults.Into(&cfg.Reactor, plan) })
		defer plan.Stop()
		fd, c := f.pair(nil)
		h := f.spawn(func(cx *sched.Context) error { return echo(cx, fd) })
		f.converse(c)
		require.NoError(f, f.wait(h))
		require.Positive(f, plan.Total())
	})
}

// One task reads while another one writes, on any workers.
func TestTwoTasksShareAConnection(t *testing.T) {
	matrix(t, func(f *fixture) {
		fd, c := f.pair(nil)
		full := f.spawn(func(cx *sched.Context) error {
			for range 8 {
				if _, err := fd.Write(cx, noise); err != nil {
					return err
				}
			}
			return fd.CloseWrite()
		})
		f.waits(fd, netfd.Out) // the peer does not read yet
		reader := f.spawn(func(cx *sched.Context) error {
			p := make([]byte, len(noise))
			for n := 0; n < len(p); {
				m, err := fd.Read(cx, p[n:])
				if err != nil {
					return err
				}
				n += m
			}
			if !bytes.Equal(p, noise) {
				return io.ErrUnexpectedEOF
			}
			return nil
		})
		_, err := c.Write(noise)
		require.NoError(f, err)
		require.NoError(f, f.wait(reader))
		n, err := io.Copy(io.Discard, c)
		require.NoError(f, err)
		require.EqualValues(f, 8*len(noise), n)
		require.NoError(f, f.wait(full))
	})
}

func TestASecondCallInADirectionIsRefused(t *testing.T) {
	matrix(t, func(f *fixture) {
		fd, c := f.pair(nil)
		first := f.spawn(func(cx *sched.Context) error {
			_, err := fd.Read(cx, make([]byte, 1))
			return err
		})
		f.waits(fd, netfd.In)
		require.ErrorIs(f, f.run(func(cx *sched.Context) error {
			_, err := fd.Read(cx, make([]byte, 1))
			return err
		}), readiness.ErrInUse)
		_, err := fd.Write(f.Context(), []byte("x")) // the other direction is free
		require.NoError(f, err)
		_, err = c.Write([]byte("x"))
		require.NoError(f, err)
		require.NoError(f, f.wait(first))
	})
}

func TestCloseEndsCallsThatWait(t *testing.T) {
	matrix(t, func(f *fixture) {
		for _, aborts := range []bool{false, true} {
			fd, c := f.pair(nil)
			read := make(chan error, 1)
			go func() {
				_, err := fd.Read(f.Context(), make([]byte, 1))
				read <- err
			}()
			write := f.spawn(func(cx *sched.Context) error {
				for {
					if _, err := fd.Write(cx, noise); err != nil {
						return err
					}
				}
			})
			f.waits(fd, netfd.In)
			f.waits(fd, netfd.Out)
			if aborts {
				fd.Abort()
			} else {
				require.NoError(f, fd.Close())
			}
			require.ErrorIs(f, fd.Close(), net.ErrClosed)
			require.ErrorIs(f, conntest.Receive(f.T, read), net.ErrClosed)
			require.ErrorIs(f, f.wait(write), net.ErrClosed)
			_, err := io.Copy(io.Discard, c)
			if aborts {
				require.ErrorIs(f, err, syscall.ECONNRESET)
			} else {
				require.NoError(f, err)
			}
			_, err = fd.Read(f.Context(), make([]byte, 1))
			require.ErrorIs(f, err, net.ErrClosed)
			require.ErrorIs(f, fd.CloseWrite(), net.ErrClosed)
			conntest.Eventually(f, func() bool { return f.group.Len() == 0 })
		}
	})
}

func TestTheEndOfTheGroupEndsCallsThatWait(t *testing.T) {
	matrix(t, func(f *fixture) {
		fd, c := f.pair(nil)
		read := make(chan error, 1)
		go func() {
			_, err := fd.Read(f.Context(), make([]byte, 1))
			read <- err
		}()
		f.waits(fd, netfd.In)
		f.engine.AbortAll()
		require.ErrorIs(f, conntest.Receive(f.T, read), net.ErrClosed)
		_, err := c.Read(make([]byte, 1))
		require.ErrorIs(f, err, syscall.ECONNRESET)
		conntest.Eventually(f, func() bool { return f.group.Len() == 0 })
		sysfd, _ := tcpPair(f.T)
		_, err = netfd.Open(f.engine, nil, sysfd, netfd.TCP, false)
		require.ErrorIs(f, err, net.ErrClosed)
	})
}

func TestDeadlines(t *testing.T) {
	matrix(t, func(f *fixture) {
		rt := f.group.Runtime()
		fd, c := f.pair(nil)
		read := func(ctx context.Context) error {
			_, err := fd.Read(ctx, make([]byte, 1))
			return err
		}
		fd.SetDeadline(netfd.In, rt.Now()+time.Millisecond)
		require.ErrorIs(f, f.run(func(cx *sched.Context) error { return read(cx) }), os.ErrDeadlineExceeded)
		require.ErrorIs(f, read(f.Context()), os.ErrDeadlineExceeded)
		_, err := c.Write([]byte("abc"))
		require.NoError(f, err)
		require.ErrorIs(f, read(f.Context()), os.ErrDeadlineExceeded, "although there are bytes")
		fd.SetDeadline(netfd.In, 0)
		for range 3 {
			require.NoError(f, f.run(func(cx *sched.Context) error { return read(cx) }))
		}
		waiting := f.spawn(func(cx *sched.Context) error { return read(cx) })
		f.waits(fd, netfd.In)
		fd.SetDeadline(netfd.In, rt.Now()+time.Hour)
		f.waits(fd, netfd.In)
		fd.SetDeadline(netfd.In, rt.Now()+time.Millisecond) // an earlier one, of a wait that has begun
		require.ErrorIs(f, f.wait(waiting), os.ErrDeadlineExceeded)
		fd.SetDeadline(netfd.In, rt.Now()+time.Hour)
		for range 2 { // waits with the same deadline
			waiting = f.spawn(func(cx *sched.Context) error { return read(cx) })
			f.waits(fd, netfd.In)
			_, err = c.Write([]byte("d"))
			require.NoError(f, err)
			require.NoError(f, f.wait(waiting))
		}
		writing := f.spawn(func(cx *sched.Context) error {
			for {
				if _, err := fd.Write(cx, noise); err != nil {
					return err
				}
			}
		})
		f.waits(fd, netfd.Out)
		fd.SetDeadline(netfd.Out, rt.Now())
		require.ErrorIs(f, f.wait(writing), os.ErrDeadlineExceeded)
	})
}

// A read that is canceled takes nothing, and the next one has every byte.
func TestCanceledReadsLoseNothing(t *testing.T) {
	matrix(t, func(f *fixture) {
		fd, c := f.pair(nil)
		var got []byte
		waited, canceled, sent := 0, 0, 0
		for len(got) < 300 {
			var cancel context.CancelFunc
			empty := sent == len(got)
			h := f.spawn(func(cx *sched.Context) error {
				var ctx context.Context
				ctx, cancel = context.WithCancel(cx)
				defer cancel()
				p := make([]byte, 7)
				n, err := fd.Read(ctx, p)
				got = append(got, p[:n]...)
				return err
			})
			if empty { // else it does not wait
				f.waits(fd, netfd.In)
				if waited++; waited%2 == 1 { // no byte comes before the cancel
					cancel()
					require.ErrorIs(f, f.wait(h), context.Canceled)
					canceled++
					continue
				}
				go cancel()
			}
			_, err := c.Write(noise[sent : sent+1])
			require.NoError(f, err)
			sent++
			if err := f.wait(h); err != nil {
				require.ErrorIs(f, err, context.Canceled)
				canceled++
			}
		}
		f.Logf("%d of %d that waited were canceled", canceled, waited)
		require.GreaterOrEqual(f, canceled, (waited+1)/2)
		require.GreaterOrEqual(f, waited, 2)
		require.Equal(f, noise[:len(got)], got)
	})
}

// Bytes that are there before a reset are read first.
func TestAResetComesAfterTheBytesBeforeIt(t *testing.T) {
	matrix(t, func(f *fixture) {
		fd, c := f.pair(nil)
		_, err := c.Write(noise[:1000])
		require.NoError(f, err)
		require.NoError(f, c.SetLinger(0))
		p := make([]byte, 1000)
		n, err := fd.Read(f.Context(), p[:1])
		require.NoError(f, err)
		require.NoError(f, c.Close())
		for n < len(p) {
			m, err := fd.Read(f.Context(), p[n:])
			require.NoError(f, err)
			n += m
		}
		require.Equal(f, noise[:1000], p)
		_, err = fd.Read(f.Context(), p)
		require.ErrorIs(f, err, syscall.ECONNRESET)
	})
}

func TestClosesBesideEverythingElse(t *testing.T) {
	matrix(t, func(f *fixture) {
		for range 50 {
			fd, c := f.pair(nil)
			calls := []func(ctx context.Context) error{
				func(ctx context.Context) error { return echo(ctx, fd) },
				func(ctx context.Context) error { _, err := fd.Read(ctx, make([]byte, 10)); return err },
				func(context.Context) error {
					fd.SetDeadline(netfd.In, f.group.Runtime().Now()+time.Microsecond)
					return nil
				},
				func(context.Context) error { return fd.Close() },
				func(context.Context) error { fd.Abort(); return nil },
			}
			done := make(chan struct{}, 2*len(calls))
			for _, call := range calls {
				go func() { _ = call(f.Context()); done <- struct{}{} }()
				f.spawn(func(cx *sched.Context) error { defer func() { done <- struct{}{} }(); return call(cx) }).Detach()
			}
			_, _ = c.Write(noise[:100])
			for range 2 * len(calls) {
				conntest.Receive(f.T, done)
			}
			require.NoError(f, c.Close())
		}
		conntest.Eventually(f, func() bool { return f.group.Len() == 0 })
	})
}
