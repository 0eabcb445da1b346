package server_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/proxyproto"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// whoami answers each line's bytes with the client's address before them.
type whoami struct {
	server.Base
	opened chan string
}

func (w whoami) OnOpen(c *server.Conn) error {
	w.opened <- c.RemoteAddr().String() + " " + c.Handle().RemoteAddr().String()
	return nil
}

func (whoami) OnData(c *server.Conn) error {
	p, _ := c.Next(-1)
	_, err := c.Write(p)
	return err
}

var loopback = proxyproto.Trust{Sources: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

func headerOf(t *testing.T, version int) []byte {
	t.Helper()
	h := &proxyproto.Header{Command: proxyproto.Proxy, Transport: proxyproto.TCP4,
		Source: netip.MustParseAddrPort("192.0.2.7:4711"), Destination: netip.MustParseAddrPort("192.0.2.1:80")}
	add := proxyproto.AppendV1
	if version == 2 {
		add = proxyproto.AppendV2
	}
	p, err := add(nil, h)
	require.NoError(t, err)
	return p
}

func TestAProxysHeaderSaysWhoTheClientIs(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		h := whoami{opened: make(chan string, 1)}
		var headers []int
		s := run(t, &server.Server{Handler: h, Backend: backend, Workers: workers, Proxy: &server.ProxyProtocol{Trust: loopback,
			Header: func(_ *server.Conn, h *proxyproto.Header) error { headers = append(headers, h.Version); return nil }}})
		for version := 1; version <= 2; version++ {
			for split := range 3 { // with the first bytes behind it, alone, and byte by byte
				c := s.dial()
				p := headerOf(t, version)
				switch split {
				case 0:
					_, err := c.Write(append(p, "hello"...))
					require.NoError(t, err)
				case 1:
					_, err := c.Write(p)
					require.NoError(t, err)
				default:
					for i := range p {
						_, err := c.Write(p[i : i+1])
						require.NoError(t, err)
					}
				}
				require.Equal(t, "192.0.2.7:4711 192.0.2.7:4711", conntest.Receive(t, h.opened))
				if split > 0 {
					_, err := c.Write([]byte("hello"))
					require.NoError(t, err)
				}
				got := make([]byte, 5)
				_, err := io.ReadFull(c, got)
				require.NoError(t, err)
				require.Equal(t, "hello", string(got))
			}
		}
		require.Equal(t, []int{1, 1, 1, 2, 2, 2}, headers)
	})
}

func TestConnectionsWithoutAValidHeaderNeverReachTheHandler(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, c := range map[string]struct {
			trust  proxyproto.Trust
			header func(*server.Conn, *proxyproto.Header) error
			send   func(t *testing.T, c net.Conn)
			log    string
		}{
			"no header": {loopback, nil, func(_ *testing.T, c net.Conn) { _, _ = c.Write([]byte("GET / HTTP/1.1\r\n")) }, "no header"},
			"untrusted": {proxyproto.Trust{}, nil, func(t *testing.T, c net.Conn) { _, _ = c.Write(headerOf(t, 1)) }, "untrusted"},
			"malformed": {loopback, nil, func(_ *testing.T, c net.Conn) { _, _ = c.Write([]byte("PROXY TCP4 1.2.3.4 01")) }, "malformed"},
			"too slow":  {loopback, nil, func(_ *testing.T, c net.Conn) { _, _ = c.Write([]byte("PROXY ")) }, "timeout"},
			"end": {loopback, nil, func(_ *testing.T, c net.Conn) {
				_, _ = c.Write([]byte("PROXY "))
				_ = c.(*net.TCPConn).CloseWrite()
			}, "unexpected EOF"},
			"refused by Header": {loopback, func(*server.Conn, *proxyproto.Header) error { return errors.New("not you") },
				func(t *testing.T, c net.Conn) { _, _ = c.Write(headerOf(t, 2)) }, "not you"},
		} {
			t.Run(name, func(t *testing.T) {
				h := whoami{opened: make(chan string, 1)}
				patience := conntest.Patience
				if c.log == "timeout" {
					patience = 50 * time.Millisecond
				}
				s := run(t, &server.Server{Handler: h, Backend: backend,
					Proxy: &server.ProxyProtocol{Trust: c.trust, Header: c.header, Timeout: patience}})
				client := s.dial()
				c.send(t, client)
				_, err := client.Read(make([]byte, 1))
				require.Error(t, err)
				_ = client.Close()
				conntest.Eventually(t, func() bool { return s.Group().Len() == 0 })
				require.Contains(t, s.log.String(), c.log)
				require.Empty(t, h.opened)
			})
		}
	})
}

func TestUntrustedSourcesMayBeLetInWithoutAHeader(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		h := whoami{opened: make(chan string, 1)}
		s := run(t, &server.Server{Handler: h, Backend: backend,
			Proxy: &server.ProxyProtocol{Trust: proxyproto.Trust{PassUntrusted: true}}})
		c := s.dial()
		me := c.LocalAddr().String()
		require.Equal(t, me+" "+me, conntest.Receive(t, h.opened))
		roundTrip(t, c, "PROXY TCP4 is but text here\r\n")
	})
}

// A reserved handler hears nothing after its OnOpen.
type reserved struct {
	server.Base
	handles chan server.Handle
	data    chan string
	close   bool
}

func (r reserved) OnOpen(c *server.Conn) error {
	defer func() { r.handles <- c.Handle() }()
	if r.close {
		return c.Close()
	}
	return c.PauseRead()
}

func (r reserved) OnData(c *server.Conn) error {
	p, _ := c.Next(-1)
	r.data <- string(p)
	return nil
}

// The handler gets bytes that arrived with the header as if they had arrived alone: not after
// Close, and not before ResumeRead.
func TestBytesBehindTheHeaderWaitForAHandlerThatPauses(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, closes := range []bool{false, true} {
			r := reserved{handles: make(chan server.Handle, 1), data: make(chan string, 10), close: closes}
			s := run(t, &server.Server{Handler: r, Backend: backend, Proxy: &server.ProxyProtocol{Trust: loopback}})
			c := s.dial()
			_, err := c.Write(append(headerOf(t, 1), "hello"...))
			require.NoError(t, err)
			h := conntest.Receive(t, r.handles)
			time.Sleep(5 * time.Millisecond) // not for anything to happen, but for nothing to
			require.Empty(t, r.data)
			if !closes {
				require.NoError(t, h.Do(func(c *server.Conn) { _ = c.ResumeRead() }))
				require.Equal(t, "hello", conntest.Receive(t, r.data))
			}
		}
	})
}

func TestHeaderIsNotCalledWhereThereIsNone(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		trust := loopback
		trust.Policy = proxyproto.Optional
		called := make(chan int, 1)
		s := run(t, &server.Server{Handler: echo{}, Backend: backend, Proxy: &server.ProxyProtocol{Trust: trust,
			Header: func(_ *server.Conn, h *proxyproto.Header) error { called <- h.Version; return nil }}})
		roundTrip(t, s.dial(), "GET / HTTP/1.1, and no header")
		require.Empty(t, called)
	})
}
