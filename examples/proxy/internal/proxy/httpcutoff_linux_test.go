package proxy

import (
	"bytes"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
)

// An upstream's reset takes back nothing that it has sent before, in a tunnel and in an answer. A
// client that has not read yet gets all of it, and then a reset.
func TestAllThatAnUpstreamSentBeforeAResetReachesTheClient(t *testing.T) {
	const upgrade = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"
	body := bytes.Repeat([]byte("0123456789abcdef"), 16<<10)
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, head := range map[string]string{"tunnel": upgrade, "length": "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"} {
			t.Run(name, func(t *testing.T) {
				cut := make(chan error, 1)
				o := listen(t, "127.0.0.1:0", func(c net.Conn) {
					_, err := c.Read(make([]byte, 4<<10))
					if err == nil {
						_, err = c.Write(append([]byte(head), body...))
					}
					raw, _ := c.(*net.TCPConn).SyscallConn()
					for left := 1; err == nil && left > 0; {
						_ = raw.Control(func(fd uintptr) { left, err = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) })
					}
					reset(c.(*net.TCPConn))
					cut <- err
				})
				f := start(t, backend, httpText(o.Addr(), endless))
				d := net.Dialer{Timeout: conntest.Patience, Control: func(_, _ string, raw syscall.RawConn) error {
					return raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 8<<10) })
				}}
				c, err := d.Dial("tcp", f.addr())
				require.NoError(t, err)
				defer c.Close()
				_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
				require.NoError(t, err)
				require.NoError(t, conntest.Receive(t, cut))
				got, err := io.ReadAll(c)
				require.ErrorIs(t, err, syscall.ECONNRESET)
				_, got, _ = bytes.Cut(got, []byte("\r\n\r\n"))
				require.Equal(t, len(body), len(got))
				conntest.Eventually(t, func() bool { return f.route().Active == 0 })
			})
		}
	})
}
