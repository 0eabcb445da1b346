package conn_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/faults"
)

func TestASpliceCarriesEveryByteUnderFaults(t *testing.T) {
	rules := map[string][]faults.Rule{"short": passing["short"], "all at once": passing["all at once"]}
	underFaults(t, rules, func(t *testing.T, backend string, workers int, _ *faults.Plan, faulty func(*conn.Config)) {
		p := newProxy(t, backend, workers, faulty)
		const pairs, n = 3, 300 << 10
		for range pairs {
			client, origin := p.pair()
			together(t,
				func() error { return speak(client, 1, n, true) }, func() error { return hear(origin, 1, n, true) },
				func() error { return speak(origin, 2, n, true) }, func() error { return hear(client, 2, n, true) })
		}
		for _, err := range p.ended(pairs) {
			require.NoError(t, err)
		}
		for _, s := range p.splices(pairs) {
			b, a := s.Bytes()
			require.Equal(t, [2]uint64{n, n}, [2]uint64{b, a})
		}
	})
}

func TestWhatASpliceCannotSendEndsBothEnds(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		plan := faults.New(1, faults.Rule{Call: faults.Send, Errno: syscall.ECONNRESET, Every: 5, Most: 1})
		p := newProxy(t, backend, workers, func(cfg *conn.Config) { faults.Into(&cfg.Reactor, plan) })
		client, origin := p.pair()
		for range 2 {
			require.NoError(t, roundTripThrough(client, origin))
		}
		write(t, client, "lost")
		_, err := io.ReadAll(client)
		requireReset(t, err)
		_, err = io.ReadAll(origin) // which must not take what it has for all of it
		requireReset(t, err)
		for _, err := range p.ended(1) {
			require.ErrorIs(t, conn.Portable(err), syscall.ECONNRESET)
		}
		require.EqualValues(t, 1, plan.Total())
	})
}

// roundTripThrough sends a message each way.
func roundTripThrough(client, origin io.ReadWriter) error {
	for _, c := range [][2]io.ReadWriter{{client, origin}, {origin, client}} {
		if _, err := io.WriteString(c[0], "hello"); err != nil {
			return err
		}
		if _, err := io.ReadFull(c[1], make([]byte, 5)); err != nil {
			return err
		}
	}
	return nil
}

func TestALittleThatASpliceBringsNeedsNoRunOfATask(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := newProxy(t, backend, 1)
		client, origin := p.pair()
		each := uint64(0)
		exchange := func(n int) {
			for range n {
				require.NoError(t, roundTripThrough(client, origin))
			}
			each += 5 * uint64(n)
		}
		few := func() {
			t.Helper()
			exchange(50) // the remaining work of the earlier exchanges
			const n = 1000
			before := p.runs() // or a little earlier
			exchange(n)
			require.Less(t, p.runs()-before, uint64(n/4)) // of 2n messages
		}
		few()
		const much = 1 << 20 // that an end has waited for room does not change it
		together(t,
			func() error { _, err := io.CopyN(client, newPattern(1), much); return err },
			func() error { _, err := io.CopyN(origin, newPattern(2), much); return err },
			func() error { _, err := io.CopyN(newPattern(1), origin, much); return err },
			func() error { _, err := io.CopyN(newPattern(2), client, much); return err })
		each += much
		few()

		s := p.splices(1)[0]
		conntest.Eventually(t, func() bool { // the last message may come before it is counted
			if b, a := s.Bytes(); b != each || a != each {
				return false
			}
			for i := range p.Connections() {
				if i.Received != each || i.Sent != each || i.Unsent != 0 {
					return false
				}
			}
			return true
		}, func() string { return fmt.Sprint(slices.Collect(p.Connections()), " and not ", each) })
	})
}

func TestLittleMessagesThroughASpliceKeepTheirOrder(t *testing.T) {
	carries := func(p *proxy) {
		t := p.t
		const pairs, n = 4, 40 << 10
		var all []func() error
		for i := range uint64(pairs) {
			client, origin := p.pair()
			all = append(all,
				func() error { return chatter(client, 2*i, n) }, func() error { return hear(origin, 2*i, n, false) },
				func() error { return chatter(origin, 2*i+1, n) }, func() error { return hear(client, 2*i+1, n, false) })
		}
		together(t, all...)
		for _, err := range p.ended(pairs) {
			require.NoError(t, err)
		}
		for _, s := range p.splices(pairs) {
			b, a := s.Bytes()
			require.Equal(t, [2]uint64{n, n}, [2]uint64{b, a})
		}
	}
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) { carries(newProxy(t, backend, workers)) })
	rules := map[string][]faults.Rule{"short": passing["short"], "all at once": passing["all at once"]}
	underFaults(t, rules, func(t *testing.T, backend string, workers int, _ *faults.Plan, faulty func(*conn.Config)) {
		carries(newProxy(t, backend, workers, faulty))
	})
}

// chatter is speak in little messages.
func chatter(c *net.TCPConn, seed uint64, n int) error {
	s, r := newPattern(seed), rand.New(rand.NewPCG(seed, 3))
	for n > 0 {
		p := s.next(min(n, 1+r.IntN(200)))
		if err := writeAll(c, p); err != nil {
			return err
		}
		n -= len(p)
		if r.IntN(8) == 0 {
			runtime.Gosched()
		}
	}
	return c.CloseWrite()
}

// runs is how many runs of tasks there have been, once the workers sleep and have told.
func (p *proxy) runs() uint64 {
	rt := p.Runtime()
	conntest.Eventually(p.t, func() bool { return rt.Stats().Parked == 1 })
	return rt.Stats().Total.Polled
}

// Where between the bytes of a splice the handler's file is, nobody says.
func TestAFileStaysInOnePieceBetweenWhatASpliceBrings(t *testing.T) {
	const size = 1 << 20
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte{'f'}, size), 0o600))
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newProxy(t, backend, workers)
		client, origin := p.pair()
		require.NoError(t, roundTripThrough(client, origin))
		a, _ := p.splices(1)[0].Handles()
		var stop atomic.Bool
		spoken := make(chan error, 1)
		go func() {
			var err error
			for !stop.Load() && err == nil {
				_, err = io.WriteString(origin, "s")
			}
			spoken <- err
		}()
		sent := make(chan error, 1)
		require.NoError(t, a.Do(func(c *conn.Conn) {
			f, err := os.Open(file)
			if err == nil {
				_, err = c.ReadFrom(f)
				_ = f.Close()
			}
			sent <- err
		}))
		buf := make([]byte, 64<<10)
		files := 0
		for files < size {
			n, err := client.Read(buf)
			require.NoError(t, err)
			m := bytes.Count(buf[:n], []byte{'f'})
			if files > 0 && files+m < size {
				require.Equal(t, n, m, "after %d bytes of the file", files)
			}
			files += m
		}
		require.NoError(t, conntest.Receive(t, sent))
		stop.Store(true)
		require.NoError(t, conntest.Receive(t, spoken))
	})
}
