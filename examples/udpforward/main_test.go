package main

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

var program string

func TestMain(m *testing.M) { conntest.Main(m, func(path string) { program = path }) }

// target answers each datagram with the address that it came from. It returns its own.
func target(t *testing.T, at string) *net.UDPConn {
	t.Helper()
	pc, err := net.ListenPacket("udp4", at)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pc.Close() })
	go func() {
		p := make([]byte, 2000)
		for {
			n, from, err := pc.ReadFrom(p)
			if err != nil {
				return
			}
			_, _ = pc.WriteTo(fmt.Appendf(nil, "%s %v", p[:n], from), from)
		}
	}()
	return pc.(*net.UDPConn)
}

func client(t *testing.T, to string) net.Conn {
	t.Helper()
	c, err := net.Dial("udp4", to)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
	return c
}

// ask sends a datagram and returns the address that the target saw.
func ask(c net.Conn, text string) (seen string, err error) {
	if _, err := c.Write([]byte(text)); err != nil {
		return "", err
	}
	p := make([]byte, 2000)
	n, err := c.Read(p)
	if err != nil {
		return "", err
	}
	var got string
	if _, err := fmt.Sscanf(string(p[:n]), "%s %s", &got, &seen); err != nil || got != text {
		return "", fmt.Errorf("%q is no answer to %q: %w", p[:n], text, err)
	}
	return seen, nil
}

func TestEachClientHasASocketTowardsTheTarget(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		to := target(t, "127.0.0.1:0")
		p := conntest.Start(t, program, "-addr", "127.0.0.1:0", "-to", to.LocalAddr().String(), "-backend", backend, "-workers", "2")
		seen := make(chan string, 8)
		conntest.Each(t, 8, func(i int) error {
			c := client(t, p.Addr)
			var first string
			for j := range 20 {
				from, err := ask(c, fmt.Sprintf("%d/%d", i, j))
				switch {
				case err != nil:
					return err
				case first == "":
					first = from
					seen <- first
				case from != first:
					return fmt.Errorf("the session has moved from %s to %s", first, from)
				}
			}
			return nil
		})
		close(seen)
		all := map[string]bool{}
		for from := range seen {
			all[from] = true
		}
		require.Len(t, all, 8)
	})
}

// A target that is away costs the datagrams that are sent meanwhile. The sessions go on.
func TestASessionOutlivesATargetThatIsAway(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		to := target(t, "127.0.0.1:0")
		at := to.LocalAddr().String()
		p := conntest.Start(t, program, "-addr", "127.0.0.1:0", "-to", at, "-backend", backend)
		c := client(t, p.Addr)
		first, err := ask(c, "before")
		require.NoError(t, err)
		require.NoError(t, to.Close())
		for range 10 {
			_, err := c.Write([]byte("lost"))
			require.NoError(t, err)
		}
		target(t, at)
		var again string
		conntest.Eventually(t, func() bool { // the lost ones may be on their way still
			_ = c.SetDeadline(time.Now().Add(time.Second))
			again, err = ask(c, "after")
			return err == nil
		})
		require.Equal(t, first, again)
	})
}

func TestASessionWithoutAnswersEnds(t *testing.T) {
	s := &server.Server{}
	t.Cleanup(func() { _ = s.Close() })
	u, err := s.ListenUDP("udp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, u.SetReadDeadline(time.Unix(1, 0))) // the answers end
	_, err = sched.Go(s.Group().Runtime(), func(cx *sched.Context) (struct{}, error) {
		return struct{}{}, answer(cx, u, nil)
	}).Wait(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, u.Close(), net.ErrClosed, "or the session would not notice")
}

func TestASessionThatIsIdleEnds(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		to := target(t, "127.0.0.1:0")
		p := conntest.Start(t, program, "-addr", "127.0.0.1:0", "-to", to.LocalAddr().String(), "-backend", backend, "-idle", "50ms")
		c := client(t, p.Addr)
		answered := func(text string) (from string) { // a session that ends too soon loses its answer
			conntest.Eventually(t, func() (ok bool) {
				require.NoError(t, c.SetDeadline(time.Now().Add(time.Second)))
				var err error
				from, err = ask(c, text)
				return err == nil
			})
			return from
		}
		first := answered("before")
		conntest.Eventually(t, func() bool {
			time.Sleep(100 * time.Millisecond) // the session must be idle
			return answered("after") != first
		})
	})
}
