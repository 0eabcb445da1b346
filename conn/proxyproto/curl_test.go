package proxyproto_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/proxyproto"
)

// The bytes that curl writes are read: its own addresses, then its request.
func TestCurlsHeaderIsRead(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	if help, err := exec.Command(curl, "--help", "all").Output(); err != nil || !strings.Contains(string(help), "--haproxy-protocol") {
		t.Skip("curl does not know of --haproxy-protocol")
	}
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(addr, func(t *testing.T) {
			ln, err := net.Listen("tcp", addr)
			if err != nil && strings.HasPrefix(addr, "[") {
				t.Skip("no IPv6 on the loopback interface:", err)
			}
			require.NoError(t, err)
			defer ln.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, curl, "--silent", "--show-error", "--noproxy", "*",
				"--haproxy-protocol", "http://"+ln.Addr().String()+"/path")
			var out, failure strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &failure
			require.NoError(t, cmd.Start())
			require.NoError(t, ln.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute)))
			c, err := ln.Accept()
			require.NoError(t, err)
			defer c.Close()
			require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))

			var b []byte
			var h proxyproto.Header
			for n := 0; !strings.Contains(string(b), "\r\n\r\n") || h.Version == 0; {
				p := make([]byte, 16)
				got, err := c.Read(p)
				require.NoError(t, err)
				b = append(b, p[:got]...)
				if h.Version == 0 {
					h, n, err = proxyproto.Parse(b)
					if errors.Is(err, proxyproto.ErrIncomplete) {
						continue
					}
					require.NoError(t, err)
					b = b[n:]
				}
			}
			require.Equal(t, 1, h.Version)
			require.True(t, h.Proxied())
			require.Equal(t, c.RemoteAddr(), h.SourceAddr())
			require.Equal(t, netip.MustParseAddrPort(ln.Addr().String()), h.Destination)
			require.True(t, strings.HasPrefix(string(b), "GET /path HTTP/1.1\r\n"), "%q", b)
			_, err = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"))
			require.NoError(t, err)
			require.NoError(t, cmd.Wait(), failure.String())
			require.Equal(t, "ok", out.String())
		})
	}
}
