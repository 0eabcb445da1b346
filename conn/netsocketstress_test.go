package conn_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Writes that deadlines cut short report exactly how many bytes were taken, and reads lose none. If
// the caller goes on from there, every byte arrives once and in order.
func TestSocketsLoseAndDoubleNothingUnderDeadlines(t *testing.T) {
	onSocketGroups(t, conntest.Workers(t), func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		conntest.Each(t, 8, func(i int) error {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			out, err := f.DialSocketContext(t.Context(), l.Addr())
			if err != nil {
				return err
			}
			defer out.Close()
			in, err := l.AcceptContext(t.Context())
			if err != nil {
				return err
			}
			defer in.Close()
			// The accepted one need not be this one's peer: all send the same.
			if i%2 == 0 { // with less than a segment of the loopback interface, 64 KiB, TCP waits for seconds
				_ = out.SetWriteBuffer(16 << 10)
				_ = in.SetReadBuffer(128 << 10)
			}
			sent := make(chan error, 1)
			seed := r.Uint64()
			go func() { sent <- writeUnderDeadlines(out, rand.New(rand.NewPCG(seed, 2)), noise) }()
			got, err := readUnderDeadlines(in, r)
			if err != nil {
				return err
			}
			if !bytes.Equal(noise, got) {
				return fmt.Errorf("%d bytes came of %d, or changed", len(got), len(noise))
			}
			return <-sent
		})
	})
}

func writeUnderDeadlines(s *conn.Socket, r *rand.Rand, p []byte) error {
	for len(p) > 0 {
		_ = s.SetWriteDeadline(time.Now().Add(time.Duration(r.IntN(500)) * time.Microsecond))
		n, err := s.Write(p[:min(len(p), 1+r.IntN(1+r.IntN(300_000)))])
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		p = p[n:]
	}
	return s.CloseWrite()
}

func readUnderDeadlines(s *conn.Socket, r *rand.Rand) (got []byte, err error) {
	p := make([]byte, 100_000)
	for {
		_ = s.SetReadDeadline(time.Now().Add(time.Duration(r.IntN(500)) * time.Microsecond))
		n, err := s.Read(p[:1+r.IntN(len(p))])
		got = append(got, p[:n]...)
		switch {
		case err == io.EOF:
			return got, nil
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			return got, err
		}
		if r.IntN(20) == 0 {
			time.Sleep(time.Duration(r.IntN(1000)) * time.Microsecond) // let it pile up
		}
	}
}

// A write with nothing before it is one system call of the writer's own.
func TestAWriteWithNothingQueuedNeedsNoWorker(t *testing.T) {
	onSocketGroups(t, []int{1}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		a, b, stop, err := pair(t, l, func() (net.Conn, error) { return dial(l.Addr()) })
		require.NoError(t, err)
		defer stop()
		write(t, b, "hello")
		read(t, a, 5)
		runs := func() uint64 { return f.Runtime().Stats().Total.Polled }
		var before uint64
		conntest.Eventually(t, func() bool { // the runs that are left of that are over
			before = runs()
			time.Sleep(5 * time.Millisecond)
			return runs() == before
		})
		const writes = 100
		for range writes {
			write(t, a, noise[:1000])
			read(t, b, 1000)
		}
		require.Less(t, runs()-before, uint64(writes/2))
	})
}

func TestSocketsAllocateNothingPerMessage(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's pools forget on purpose")
	}
	onSocketGroups(t, []int{1}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		a, b, stop, err := pair(t, l, func() (net.Conn, error) { return f.DialSocketContext(t.Context(), l.Addr()) })
		require.NoError(t, err)
		defer stop()
		go func() {
			p := make([]byte, 1000)
			for {
				n, err := b.Read(p)
				if err != nil {
					return
				}
				_ = b.SetDeadline(time.Now().Add(time.Hour))
				if _, err := b.Write(p[:n]); err != nil {
					return
				}
			}
		}()
		p := make([]byte, 1000)
		per := testing.AllocsPerRun(2000, func() {
			if _, err := a.Write(p); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadFull(a, p); err != nil {
				t.Error(err)
			}
		})
		require.Less(t, per, 1.0)
	})
}
