package server_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// traced are the network hooks that a dial has called, in order.
type traced struct {
	mu    sync.Mutex
	calls []string
}

func (c *traced) add(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, fmt.Sprintf(format, args...))
}

func (c *traced) list() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// context is one whose dials are noted.
func (c *traced) context(t *testing.T) context.Context {
	return httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		DNSStart:     func(i httptrace.DNSStartInfo) { c.add("resolve %s", i.Host) },
		DNSDone:      func(i httptrace.DNSDoneInfo) { c.add("resolved %v %v", i.Addrs, i.Err) },
		ConnectStart: func(network, addr string) { c.add("connect %s %s", network, addr) },
		ConnectDone: func(network, addr string, err error) {
			for _, errno := range []error{syscall.ECONNREFUSED, net.ErrClosed} {
				if errors.Is(conn.Portable(err), errno) {
					err = errno
				}
			}
			c.add("connected %s %s %v", network, addr, err)
		},
	})
}

// nameserver answers every question for an A record with 127.0.0.1, and others with nothing.
func nameserver(t *testing.T) (addr string) {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = pc.Close() })
	go func() {
		buf := make([]byte, 1<<10)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, Type: q.Type},
					Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}}}
			}
			if p, err := m.Pack(); err == nil {
				_, _ = pc.WriteTo(p, from)
			}
		}
	}()
	return pc.LocalAddr().String()
}

func TestTracesAreToldOfTheConnectsAlone(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		l = serveEcho(t, l)
		_, port, err := net.SplitHostPort(l.Addr().String())
		require.NoError(t, err)
		dns := nameserver(t)
		resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "udp", dns)
		}}
		c := newClient(t, backend, 2, false)
		ours := c.Dialer
		ours.Resolver = resolver
		theirs := net.Dialer{Resolver: resolver}
		gone, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, gone.Close())
		for _, addr := range []string{"127.0.0.1:" + port, "suiro.test:" + port, gone.Addr().String()} {
			var want, got traced
			wc, werr := theirs.DialContext(want.context(t), "tcp", addr)
			gc, err := ours.DialContext(got.context(t), "tcp", addr)
			require.Equal(t, want.list(), got.list())
			require.NotEmpty(t, got.list())
			require.Equal(t, werr == nil, err == nil)
			if err == nil {
				require.NoError(t, wc.Close())
				require.NoError(t, gc.Close())
			}
		}
	})
}

// The trace also learns of attempts that fail or that come second.
func TestTracesAreToldOfEveryAttempt(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		six, four := both(t)
		serveEcho(t, four.Listen(t))
		c := newClient(t, backend, 2, false)
		c.names.hosts["both.test"] = []string{"::1", "127.0.0.1"}
		for _, end := range []error{syscall.ECONNREFUSED, net.ErrClosed} {
			if end == net.ErrClosed {
				six.Swallow(t) // it does not answer, so the other wins
			}
			var got traced
			s, err := c.DialContext(got.context(t), "tcp", at("both.test", six.Port()))
			require.NoError(t, err)
			require.NoError(t, s.Close())
			first, second := at("::1", six.Port()), at("127.0.0.1", six.Port())
			want := []string{"connect tcp " + first, fmt.Sprintf("connected tcp %s %v", first, end), "connect tcp " + second, "connected tcp " + second + " <nil>"}
			conntest.Eventually(t, func() bool { return len(got.list()) == len(want) })
			require.ElementsMatch(t, want, got.list())
		}
	})
}
