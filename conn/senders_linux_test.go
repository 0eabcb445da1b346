package conn_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Each byte of the tests below names its sender, in the upper 3 bits, and its
// place modulo 32 among that sender's bytes.
const places = 32

// A strand is the bytes of one sender.
type strand struct {
	id  int
	at  int // how many bytes were taken
	buf []byte
}

// next is the n bytes behind those that were taken.
func (s *strand) next(n int) []byte {
	s.buf = s.buf[:0]
	for i := range n {
		s.buf = append(s.buf, byte(s.id*places+(s.at+i)%places))
	}
	return s.buf
}

// unravel reads strands until the peer's end, and returns how many bytes of each came. It fails
// if the bytes of one are not in order.
func unravel(in io.Reader, r *rand.Rand) (came [8]int, err error) {
	p := make([]byte, 128<<10)
	for {
		n, err := in.Read(p[:1+r.IntN(len(p))])
		for i, b := range p[:n] {
			id := b / places
			if int(b%places) != came[id]%places {
				return came, fmt.Errorf("byte %d of sender %d came as its byte %d, %d into a read of %d", came[id], id, b%places, i, n)
			}
			came[id]++
		}
		if err == io.EOF {
			return came, nil
		}
		if err != nil {
			return came, err
		}
		if r.IntN(4) == 0 {
			time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond)
		}
	}
}

// The senders of the tests below.
const (
	writers   = 4 // goroutines that write to the Socket, 0 to 3
	viaSend   = 4
	viaDo     = 5
	viaFile   = 6
	viaRaw    = 7
	fileBytes = 96 << 10
)

// strandFile is a file of the bytes of viaFile.
func strandFile(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "strand")
	require.NoError(t, os.WriteFile(name, (&strand{id: viaFile}).next(fileBytes), 0o600))
	return name
}

// writeStrand writes to a Socket, with deadlines, until n bytes were taken.
func writeStrand(s *conn.Socket, w *strand, r *rand.Rand, n int, deadlines bool) error {
	for w.at < n {
		if deadlines && r.IntN(3) == 0 {
			_ = s.SetWriteDeadline(time.Now().Add(time.Duration(r.IntN(800)) * time.Microsecond))
		}
		m, err := s.Write(w.next(1 + r.IntN(1+r.IntN(160<<10))))
		w.at += m
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
	}
	return nil
}

// sendStrand sends by the Handle, until n bytes were taken.
func sendStrand(h conn.Handle, w *strand, r *rand.Rand, n int) error {
	for w.at < n {
		p := w.next(1 + r.IntN(1+r.IntN(40<<10)))
		switch err := h.Send(p); {
		case errors.Is(err, conn.ErrWriteQueueFull):
			time.Sleep(time.Millisecond)
		case err != nil:
			return err
		default:
			w.at += len(p)
		}
	}
	return nil
}

// doStrand writes, or sends files, by functions of the Handle.
func doStrand(h conn.Handle, ended chan struct{}, w *strand, r *rand.Rand, n int, do func(c *conn.Conn) (int, error)) error {
	for w.at < n {
		errs := make(chan error, 1)
		if err := h.Do(func(c *conn.Conn) {
			m, err := do(c)
			w.at += m
			errs <- err
		}); err != nil {
			return err
		}
		select {
		case err := <-errs:
			if errors.Is(err, conn.ErrWriteQueueFull) {
				time.Sleep(time.Millisecond)
			} else if err != nil {
				return err
			}
		case <-ended: // then it need not be called
			return net.ErrClosed
		}
		if r.IntN(3) == 0 {
			time.Sleep(time.Duration(r.IntN(500)) * time.Microsecond)
		}
	}
	return nil
}

// rawStrand makes system calls of its own.
func rawStrand(s *conn.Socket, w *strand, r *rand.Rand, n int) error {
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	for w.at < n {
		p := w.next(1 + r.IntN(1+r.IntN(8<<10)))
		err := raw.Write(func(fd uintptr) bool {
			m, err := syscall.Write(int(fd), p)
			if err == nil {
				w.at += m
			}
			return true
		})
		if errors.Is(err, os.ErrDeadlineExceeded) { // of another writer's
			_ = s.SetWriteDeadline(time.Time{})
		} else if err != nil {
			return err
		}
		time.Sleep(time.Duration(r.IntN(300)) * time.Microsecond)
	}
	return nil
}

// senders sends by all kinds of senders on a lent connection at once. It returns how many bytes of
// each were taken, and with which error each ended.
func senders(t *testing.T, l lent, seed uint64, n int, deadlines bool) (sent [8]int, errs [8]error) {
	name := strandFile(t)
	var wg sync.WaitGroup
	strands := [8]*strand{}
	go1 := func(id int, f func(w *strand, r *rand.Rand) error) {
		w := &strand{id: id}
		strands[id] = w
		wg.Go(func() { errs[id] = f(w, rand.New(rand.NewPCG(seed, uint64(id)))) })
	}
	for id := range writers {
		go1(id, func(w *strand, r *rand.Rand) error { return writeStrand(l.s, w, r, n, deadlines) })
	}
	go1(viaSend, func(w *strand, r *rand.Rand) error { return sendStrand(l.h, w, r, n/4) })
	go1(viaDo, func(w *strand, r *rand.Rand) error {
		return doStrand(l.h, l.ended, w, r, n/2, func(c *conn.Conn) (int, error) { return c.Write(w.next(1 + r.IntN(1+r.IntN(60<<10)))) })
	})
	go1(viaFile, func(w *strand, r *rand.Rand) error {
		return doStrand(l.h, l.ended, w, r, 4*fileBytes, func(c *conn.Conn) (int, error) {
			f, err := os.Open(name)
			if err != nil {
				return 0, err
			}
			defer f.Close()
			if err := c.SendFile(f, 0, -1); err != nil {
				return 0, err
			}
			if r.IntN(4) == 0 {
				c.ReadFiles()
			}
			return fileBytes, nil
		})
	})
	go1(viaRaw, func(w *strand, r *rand.Rand) error { return rawStrand(l.s, w, r, n/50) })
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	conntest.Receive(t, done, "senders")
	for id, w := range strands {
		sent[id] = w.at
	}
	return sent, errs
}

// A lent is a connection that goroutines have.
type lent struct {
	s     *conn.Socket
	h     conn.Handle
	ended chan struct{}
}

// lends lends each connection that opens.
func lends(out chan lent) conn.Handler {
	return funcs{open: func(c *conn.Conn) error {
		ended := make(chan struct{})
		c.NotifyClose(func() { close(ended) })
		out <- lent{c.Lend(), c.Handle(), ended}
		return nil
	}}
}

// All that can send on a connection does so at once: each sender's bytes arrive once and in order.
func TestTheBytesOfAllSendersArriveOnceAndInOrder(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for i, configure := range []func(*conn.Config){
			func(*conn.Config) {},
			func(cfg *conn.Config) { cfg.MaxMemory = 64 << 20 },
		} {
			got := make(chan lent, 4)
			f := serve(t, backend, workers, lends(got), configure)
			for k := range 2 {
				c := f.dial()
				l := conntest.Receive(t, got)
				if k == 0 {
					_ = l.s.SetWriteBuffer(16 << 10)
					_ = c.(*net.TCPConn).SetReadBuffer(128 << 10)
				}
				type result struct {
					came [8]int
					err  error
				}
				results := make(chan result, 1)
				go func() {
					came, err := unravel(c, rand.New(rand.NewPCG(9, uint64(i))))
					if err != nil {
						t.Error(err)
						reset(c) // the senders need not wait
					}
					results <- result{came, err}
				}()
				sent, errs := senders(t, l, uint64(100*i+k), 256<<10, true)
				require.Equal(t, [8]error{}, errs)
				require.NoError(t, l.s.CloseWrite())
				r := conntest.Receive(t, results)
				require.NoError(t, r.err)
				require.Equal(t, sent, r.came)
				_ = c.Close()
				_ = l.s.Close()
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
			}
			require.Zero(t, f.Excess())
			require.Zero(t, f.Buffered())
		}
	})
}

// Ends at any moment: nothing hangs, and the received bytes are the beginning of the sent ones.
func TestAnEndAmongManySendersLeavesNothing(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for i, configure := range []func(*conn.Config){
			func(*conn.Config) {},
			func(cfg *conn.Config) { cfg.MaxMemory = 64 << 20 },
		} {
			got := make(chan lent, 4)
			f := serve(t, backend, workers, lends(got), configure)
			for k := range 7 {
				c := f.dial()
				l := conntest.Receive(t, got)
				r := rand.New(rand.NewPCG(uint64(k), uint64(i)))
				if i == 0 {
					_ = l.s.SetWriteBuffer(16 << 10)
				}
				errs := make(chan error, 1)
				how, after := k, time.Duration(r.IntN(20_000))*time.Microsecond
				go func() {
					_, err := unravel(c, r)
					if how != 6 && (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, net.ErrClosed)) {
						err = nil
					}
					errs <- err
				}()
				stop := time.AfterFunc(after, func() {
					switch how {
					case 0:
						_ = l.s.Close()
					case 1:
						_ = l.s.SetLinger(0)
						_ = l.s.Close()
					case 2:
						_ = l.h.Abort()
					case 3:
						_ = l.h.Close()
					case 4:
						_ = c.(*net.TCPConn).SetLinger(0)
						_ = c.Close()
					case 5:
						_ = c.Close()
					case 6:
						_ = l.s.CloseWrite()
					}
				})
				senders(t, l, uint64(k), 8<<20, k%2 == 0)
				stop.Stop()
				_ = l.s.Close()
				err := conntest.Receive(t, errs)
				require.NoError(t, err, "how %d", how)
				_ = c.Close()
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
			}
			require.Zero(t, f.Excess())
			require.Zero(t, f.Buffered())
		}
	})
}
