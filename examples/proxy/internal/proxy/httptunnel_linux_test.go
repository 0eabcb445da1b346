package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// A tunnel that one side resets does not look finished on the other.
func TestAResetPassesThroughATunnel(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		ends := make(chan error, 1)
		o := listen(t, "127.0.0.1:0", func(c net.Conn) {
			in := bufio.NewReader(c)
			if _, err := http.ReadRequest(in); err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
			line, err := in.ReadString('\n')
			if err == nil && line == "reset\n" {
				reset(c.(*net.TCPConn))
				return
			}
			_, _ = io.WriteString(c, line)
			_, err = io.Copy(io.Discard, in)
			ends <- err
		})
		f := start(t, backend, httpText(o.Addr(), endless))
		for _, line := range []string{"stay\n", "reset\n"} {
			c := f.dial()
			_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			require.NoError(t, err)
			in := bufio.NewReader(c)
			res, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			require.Equal(t, 101, res.StatusCode)
			_, err = io.WriteString(c, line)
			require.NoError(t, err)
			got, err := in.ReadString('\n')
			if line == "stay\n" {
				require.NoError(t, err)
				require.Equal(t, line, got)
				reset(c)
				err = conntest.Receive(t, ends)
			}
			require.ErrorIs(t, err, syscall.ECONNRESET)
			conntest.Eventually(t, func() bool { return f.route().Active == 0 && f.upstream(0).Active == 0 })
		}
	})
}
