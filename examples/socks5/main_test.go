package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	socks "golang.org/x/net/proxy"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

var program string

func TestMain(m *testing.M) { conntest.Main(m, func(path string) { program = path }) }

// hosts resolves all names but one, to this machine.
type hosts struct{ net.Resolver }

func (*hosts) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if host == "unknown.test" {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// start starts a proxy until the end of the test. change may change it before.
func start(t *testing.T, backend string, workers int, change func(*proxy)) (s *server.Server, addr net.Addr) {
	t.Helper()
	listening := make(chan net.Addr, 1)
	s = &server.Server{Addr: "127.0.0.1:0", Backend: backend, Workers: workers, Listening: func(a net.Addr) { listening <- a }}
	p := &proxy{dialer: server.Dialer{Group: s.Group, Resolver: &hosts{}}, handshake: conntest.Patience}
	if change != nil {
		change(p)
	}
	s.Handler = server.Sequential(p.serve)
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()
	t.Cleanup(func() {
		if err := shutdown(s); !errors.Is(err, server.ErrServerClosed) { // the test may have shut it down
			require.NoError(t, err)
		}
		require.ErrorIs(t, conntest.Receive(t, served), server.ErrServerClosed)
	})
	return s, conntest.Receive(t, listening)
}

func shutdown(s *server.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
	defer cancel()
	return s.Shutdown(ctx)
}

func dial(t *testing.T, addr net.Addr) *net.TCPConn {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr.String(), conntest.Patience)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
	return c.(*net.TCPConn)
}

// send writes beside the caller's reads, and then ends the client's bytes.
func send(c *net.TCPConn, p []byte) {
	go func() {
		_, _ = c.Write(p)
		_ = c.CloseWrite()
	}()
}

// noise is random bytes.
func noise(n int, seed byte) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(p)
	return p
}

// greeting offers no authentication; agreed is the answer.
const greeting, agreed = "\x05\x01\x00", "\x05\x00"

// numbered is a CONNECT to an IP address.
func numbered(t *testing.T, to net.Addr) string {
	t.Helper()
	at := to.(*net.TCPAddr).AddrPort()
	ip, kind := at.Addr().Unmap(), "\x01"
	if ip.Is6() {
		kind = "\x04"
	}
	return "\x05\x01\x00" + kind + string(ip.AsSlice()) + port(to)
}

// named is a CONNECT to a name.
func named(name string, to net.Addr) string {
	return "\x05\x01\x00\x03" + string([]byte{byte(len(name))}) + name + port(to)
}

func port(to net.Addr) string {
	return string(binary.BigEndian.AppendUint16(nil, uint16(to.(*net.TCPAddr).Port)))
}

// answer is a reply without an address.
func answer(code byte) string {
	return "\x05" + string([]byte{code}) + "\x00\x01\x00\x00\x00\x00\x00\x00"
}

// expect reads exactly the text.
func expect(t *testing.T, c net.Conn, text string) {
	t.Helper()
	p := make([]byte, len(text))
	n, err := io.ReadFull(c, p)
	require.NoError(t, err)
	require.Equal(t, text, string(p[:n]))
}

// accepted reads the reply to a CONNECT that was carried out, and returns the bound address.
func accepted(t *testing.T, c net.Conn) netip.AddrPort {
	t.Helper()
	expect(t, c, "\x05\x00\x00")
	kind := make([]byte, 1)
	_, err := io.ReadFull(c, kind)
	require.NoError(t, err)
	p := make([]byte, map[byte]int{1: 4, 4: 16}[kind[0]]+2)
	_, err = io.ReadFull(c, p)
	require.NoError(t, err)
	ip, ok := netip.AddrFromSlice(p[:len(p)-2])
	require.True(t, ok, "an address of type %d", kind)
	return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(p[len(p)-2:]))
}

// all is what a client receives up to the end.
func all(t *testing.T, c net.Conn) string {
	t.Helper()
	p, err := io.ReadAll(c)
	require.NoError(t, err)
	return string(p)
}

// targets are addresses of one server, in each form that a request has.
func targets(t *testing.T, serve func(c net.Conn)) (requests map[string]string) {
	t.Helper()
	four := conntest.Serve(t, serve)
	requests = map[string]string{
		"IPv4":                numbered(t, four),
		"name":                named("here.test", four),
		"the longest name":    named(string(bytes.Repeat([]byte("abcd."), 51)), four),
		"IPv4 as a name":      named("127.0.0.1", four),
		"the reserved byte":   "\x05\x01\xff" + numbered(t, four)[3:],
		"IPv4 mapped to IPv6": "\x05\x01\x00\x04" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x7f\x00\x00\x01" + port(four),
	}
	ln, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Log("without IPv6: ", err)
		return requests
	}
	t.Cleanup(func() { _ = ln.Close() })
	go conntest.ServeEach(ln, func(_ int, c net.Conn) {
		defer c.Close()
		serve(c)
	})
	requests["IPv6"] = numbered(t, ln.Addr())
	return requests
}

func TestTheReplyHasTheAddressThatTheTargetSees(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		seen := make(chan netip.AddrPort, 1)
		requests := targets(t, func(c net.Conn) {
			seen <- c.RemoteAddr().(*net.TCPAddr).AddrPort()
			conntest.Echo(c)
		})
		s, addr := start(t, backend, workers, nil)
		for name, request := range requests {
			t.Run(name, func(t *testing.T) {
				c := dial(t, addr)
				_, err := io.WriteString(c, "\x05\x03\x02\x00\x01")
				require.NoError(t, err)
				expect(t, c, agreed)
				_, err = io.WriteString(c, request)
				require.NoError(t, err)
				require.Equal(t, conntest.Receive(t, seen), accepted(t, c))
				send(c, []byte("hello"))
				require.Equal(t, "hello", all(t, c))
			})
		}
		conntest.Eventually(t, func() bool { return s.Group().Len() == 0 })
	})
}

// Clients may send everything at once: greeting, request and more than the buffers hold.
func TestBytesBehindTheRequestAreNotLost(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		requests := targets(t, conntest.Echo)
		s, addr := start(t, backend, workers, nil)
		for _, request := range requests {
			for i, size := range []int{0, 1, 100_000, 2 << 20} {
				c, data := dial(t, addr), noise(size, byte(i))
				send(c, slices.Concat([]byte(greeting+request), data))
				expect(t, c, agreed)
				accepted(t, c)
				require.True(t, all(t, c) == string(data), "%d bytes", size)
			}
		}
		conntest.Eventually(t, func() bool { return s.Group().Len() == 0 })
	})
}

// received waits until the proxy has received n bytes of its only client.
func received(t *testing.T, s *server.Server, n int) {
	t.Helper()
	conntest.Eventually(t, func() bool {
		for c := range s.Group().Connections() {
			return c.Received == uint64(n)
		}
		return false
	})
}

func TestAHandshakeMayComeByteByByte(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		requests := targets(t, conntest.Echo)
		s, addr := start(t, backend, workers, nil)
		for _, request := range requests {
			c := dial(t, addr)
			text := greeting + request
			for i := range len(text) - 1 {
				_, err := c.Write([]byte{text[i]})
				require.NoError(t, err)
				received(t, s, i+1)
			}
			send(c, []byte(text[len(text)-1:]+"hello"))
			expect(t, c, agreed)
			accepted(t, c)
			require.Equal(t, "hello", all(t, c))
			conntest.Eventually(t, func() bool { return s.Group().Len() == 0 })
		}
	})
}

// The end of a handshake that is cut short ends the connection, whether by a FIN or a reset.
// Nothing is dialed, and the client gets no reply.
func TestAHandshakeMayEndAnywhere(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		var dialed atomic.Int32
		requests := targets(t, func(net.Conn) { dialed.Add(1) })
		delete(requests, "the longest name")
		s, addr := start(t, backend, workers, nil)
		for _, request := range requests {
			text := greeting + request
			for cut := range text {
				want := ""
				if cut >= len(greeting) {
					want = agreed
				}
				c := dial(t, addr)
				send(c, []byte(text[:cut]))
				require.Equal(t, want, all(t, c), "after %d bytes", cut)

				c = dial(t, addr)
				_, err := io.WriteString(c, text[:cut])
				require.NoError(t, err)
				expect(t, c, want)
				require.NoError(t, c.SetLinger(0))
				require.NoError(t, c.Close())
			}
		}
		conntest.Eventually(t, func() bool { return s.Group().Len() == 0 })
		require.Zero(t, dialed.Load())
	})
}

// A refused client gets the reply, and the end, also if it has sent more.
func TestRepliesToRequestsThatAreRefused(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		refusing := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
		silent := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
		silent.Swallow(t)
		errnos := map[string]syscall.Errno{ // by the address, and as the kernel would report them
			"127.1.0.1:1": syscall.ENETUNREACH, "127.1.0.2:1": syscall.EHOSTUNREACH, "127.1.0.3:1": syscall.ETIMEDOUT, "127.1.0.4:1": syscall.EACCES,
		}
		control := func(_, address string, _ syscall.RawConn) error {
			if errno, ok := errnos[address]; ok {
				return os.NewSyscallError("connect", errno)
			}
			return nil
		}
		s, addr := start(t, backend, workers, func(p *proxy) { p.dialer.Control = control })
		impatient, later := start(t, backend, workers, func(p *proxy) { p.dialer.Timeout = 20 * time.Millisecond })
		at := func(ip string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(ip + ":1")) }
		connect := numbered(t, refusing.Addr())
		for name, c := range map[string]struct {
			proxy         net.Addr
			request, want string
		}{
			"the network is unreachable":  {addr, greeting + numbered(t, at("127.1.0.1")), agreed + answer(3)},
			"the host is unreachable":     {addr, greeting + numbered(t, at("127.1.0.2")), agreed + answer(4)},
			"the name is unknown":         {addr, greeting + named("unknown.test", refusing.Addr()), agreed + answer(4)},
			"it refuses":                  {addr, greeting + connect, agreed + answer(5)},
			"it refuses, by name":         {addr, greeting + named("here.test", refusing.Addr()), agreed + answer(5)},
			"the kernel gives up":         {addr, greeting + numbered(t, at("127.1.0.3")), agreed + answer(6)},
			"the dialer gives up":         {later, greeting + numbered(t, silent.Addr()), agreed + answer(6)},
			"another error":               {addr, greeting + numbered(t, at("127.1.0.4")), agreed + answer(1)},
			"BIND":                        {addr, greeting + "\x05\x02" + connect[2:], agreed + answer(7)},
			"UDP ASSOCIATE":               {addr, greeting + "\x05\x03" + connect[2:], agreed + answer(7)},
			"no command":                  {addr, greeting + "\x05\x00" + connect[2:], agreed + answer(7)},
			"address type 0":              {addr, greeting + "\x05\x01\x00\x00" + connect[4:], agreed + answer(8)},
			"address type 2":              {addr, greeting + "\x05\x01\x00\x02" + connect[4:], agreed + answer(8)},
			"address type 255":            {addr, greeting + "\x05\x01\x00\xff" + connect[4:], agreed + answer(8)},
			"an empty name":               {addr, greeting + named("", refusing.Addr()), agreed + answer(8)},
			"no method":                   {addr, "\x05\x00", "\x05\xff"},
			"other methods":               {addr, "\x05\x03\x01\x02\x80", "\x05\xff"},
			"the most methods":            {addr, "\x05\xff" + string(bytes.Repeat([]byte{2}, 255)), "\x05\xff"},
			"SOCKS4":                      {addr, "\x04\x01\x00\x50\x7f\x00\x00\x01\x00", ""},
			"HTTP":                        {addr, "GET / HTTP/1.1\r\n\r\n", ""},
			"another version, in between": {addr, greeting + "\x04" + connect[1:], agreed},
		} {
			t.Run(name, func(t *testing.T) {
				for _, more := range []int{0, 100_000} {
					client := dial(t, c.proxy)
					_, err := client.Write(slices.Concat([]byte(c.request), make([]byte, more)))
					require.NoError(t, err)
					require.Equal(t, c.want, all(t, client))
					require.NoError(t, client.Close())
				}
			})
		}
		conntest.Eventually(t, func() bool { return s.Group().Len()+impatient.Group().Len() == 0 })
	})
}

// If several addresses of a name fail, the reply is the one that says most.
func TestReplyOfSeveralFailures(t *testing.T) {
	for _, c := range []struct {
		errs []error
		want byte
	}{
		{[]error{syscall.ENETUNREACH, syscall.ECONNREFUSED}, connectionRefused},
		{[]error{os.ErrDeadlineExceeded, syscall.EHOSTUNREACH}, hostUnreachable},
		{[]error{os.ErrDeadlineExceeded, syscall.ENETUNREACH}, networkUnreachable},
		{[]error{syscall.EACCES, os.ErrDeadlineExceeded}, ttlExpired},
		{[]error{net.ErrClosed}, generalFailure},
	} {
		require.Equal(t, c.want, failure(errors.Join(c.errs...)), "%v", c.errs)
	}
}

// Each side sends 20 MB at once and ends its bytes first or last.
func TestAClientExchangesMuchWithATarget(t *testing.T) {
	const size = 20_000_000
	there, back := noise(size, 1), noise(size, 2)
	want := [2][sha256.Size]byte{sha256.Sum256(there), sha256.Sum256(back)}
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		sums := make(chan [sha256.Size]byte, 1)
		to := conntest.Serve(t, func(c net.Conn) {
			wrote := make(chan struct{})
			go func() {
				defer close(wrote)
				_, _ = c.Write(back)
				_ = c.(*net.TCPConn).CloseWrite()
			}()
			sums <- sum(c)
			<-wrote
		})
		s, addr := start(t, backend, workers, nil)
		dialer, err := socks.SOCKS5("tcp", addr.String(), nil, nil)
		require.NoError(t, err)
		for _, host := range []string{"127.0.0.1", "here.test"} {
			c := dial(t, addr)
			_, err := dialer.(interface {
				DialWithConn(context.Context, net.Conn, string, string) (net.Addr, error)
			}).DialWithConn(t.Context(), c, "tcp", net.JoinHostPort(host, fmt.Sprint(to.(*net.TCPAddr).Port)))
			require.NoError(t, err)
			send(c, there)
			got := sum(c)
			require.Equal(t, want, [2][sha256.Size]byte{conntest.Receive(t, sums), got})
		}
		conntest.Eventually(t, func() bool { return s.Group().Len() == 0 })
	})
}

// sum reads up to the end, by plain calls: package net keeps the pipes that it splices with.
func sum(c net.Conn) [sha256.Size]byte {
	h := sha256.New()
	_, _ = io.Copy(h, struct{ io.Reader }{c})
	return [sha256.Size]byte(h.Sum(nil))
}

// Either side may end its bytes first, and still gets those of the other.
func TestHalfClosesArePassedOn(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		got := make(chan string, 1)
		first := conntest.Serve(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "before your bytes")
			_ = c.(*net.TCPConn).CloseWrite()
			p, _ := io.ReadAll(c)
			got <- string(p)
		})
		last := conntest.Serve(t, func(c net.Conn) {
			p, _ := io.ReadAll(c)
			got <- string(p)
			_, _ = io.WriteString(c, "after your end")
		})
		s, addr := start(t, backend, workers, nil)
		c := dial(t, addr)
		_, err := io.WriteString(c, greeting+numbered(t, first))
		require.NoError(t, err)
		expect(t, c, agreed)
		accepted(t, c)
		require.Equal(t, "before your bytes", all(t, c))
		send(c, []byte("late"))
		require.Equal(t, "late", conntest.Receive(t, got))

		c = dial(t, addr)
		send(c, []byte(greeting+numbered(t, last)+"request"))
		expect(t, c, agreed)
		accepted(t, c)
		require.Equal(t, "after your end", all(t, c))
		require.Equal(t, "request", conntest.Receive(t, got))
		conntest.Eventually(t, func() bool { return s.Group().Len() == 0 })
	})
}

// The limit is for the handshake as a whole, and for nothing after it.
func TestAClientHasALimitedTimeForItsHandshake(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		to := conntest.Serve(t, conntest.Echo)
		const limit = 50 * time.Millisecond
		s, addr := start(t, backend, workers, func(p *proxy) { p.handshake = limit })
		text := greeting + numbered(t, to)
		for cut, want := range map[int]string{0: "", 1: "", len(greeting): agreed, len(text) - 1: agreed} {
			c := dial(t, addr)
			_, err := io.WriteString(c, text[:cut])
			require.NoError(t, err)
			got, err := io.ReadAll(c)
			require.NoError(t, err)
			require.NoError(t, c.Close()) // else the proxy lingers
			require.True(t, string(got) == want || len(got) == 0, "the machine may be slower than the limit: %q", got)
		}
		conntest.Eventually(t, func() bool {
			c := dial(t, addr)
			_, _ = io.WriteString(c, text)
			if _, err := io.CopyN(io.Discard, c, int64(len(agreed+answer(0)))); err != nil {
				return false // the machine was slower than the limit
			}
			time.Sleep(2 * limit)
			send(c, []byte("hello"))
			require.Equal(t, "hello", all(t, c))
			return true
		})
		conntest.Eventually(t, func() bool { return s.Group().Len() == 0 })
	})
}

func TestAConnectionThatCarriesNothingEnds(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		ended := make(chan struct{}, 1)
		to := conntest.Serve(t, func(c net.Conn) {
			_, _ = io.ReadAll(c)
			ended <- struct{}{}
		})
		s, addr := start(t, backend, workers, func(p *proxy) { p.idle = 20 * time.Millisecond })
		c := dial(t, addr)
		_, err := io.WriteString(c, greeting+numbered(t, to))
		require.NoError(t, err)
		_, _ = io.ReadAll(c) // it ends by a reset
		conntest.Receive(t, ended)
		conntest.Eventually(t, func() bool { return s.Group().Len() == 0 })
	})
}

// A shutdown ends a client that is about to send something. It waits for one that has begun to.
func TestAShutdownWaitsForARequestThatHasBegun(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		to := conntest.Serve(t, conntest.Echo)
		text := greeting + numbered(t, to)
		for cut := range text {
			s, addr := start(t, backend, 2, nil)
			c := dial(t, addr)
			_, err := io.WriteString(c, text[:cut])
			require.NoError(t, err)
			received(t, s, cut)
			if cut >= len(greeting) {
				expect(t, c, agreed)
			}
			down := make(chan error, 1)
			go func() { down <- shutdown(s) }()
			if cut > 0 && cut != len(greeting) {
				conntest.Eventually(t, s.Stopping)
				send(c, []byte(text[cut:]+"hello"))
				if cut < len(greeting) {
					expect(t, c, agreed)
				}
				accepted(t, c)
				expect(t, c, "hello")
			}
			require.Empty(t, all(t, c), "after %d bytes", cut)
			require.NoError(t, conntest.Receive(t, down))
		}
	})
}

func TestCommandLine(t *testing.T) {
	conntest.CommandLine(t, program, func(t *testing.T, c net.Conn) {
		_, err := io.WriteString(c, greeting)
		require.NoError(t, err)
		expect(t, c, agreed)
	})
}
