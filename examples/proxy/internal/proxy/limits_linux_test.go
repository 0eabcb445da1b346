package proxy

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
)

// refused fails the test unless a new connection is reset.
func (f *fixture) refused() {
	f.t.Helper()
	c, err := dial(f.addr())
	if err == nil { // else it was reset before it knew that it was there
		_, err = c.Read(make([]byte, 1))
		_ = c.Close()
	}
	require.ErrorIs(f.t, err, syscall.ECONNRESET)
}

// before are routes on which a silent connection does not count as a client yet.
func before(s *secret) map[string]string {
	return map[string]string{
		"TLS":         fmt.Sprintf("tls = {certificate = '%s', key = '%s'}", s.cert, s.key),
		"ClientHello": "server_names = ['a.example']",
		"PROXY":       "proxy_from = ['127.0.0.0/8']",
	}
}

func TestLimitsCountWhatIsSilent(t *testing.T) {
	s := newSecret(t, "localhost")
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", echo)
		for name, more := range before(s) {
			for _, scheme := range []string{"tcp", "http"} {
				if scheme == "http" && name == "ClientHello" {
					continue // names are for connections whose TLS is not terminated
				}
				for bound, text := range map[string][2]string{
					"route": {"", "max_connections = 2\n"}, "all": {"max_connections = 2\n", ""}, "source": {"max_per_source = 2\n", ""},
				} {
					if bound == "source" && name == "PROXY" {
						continue // which says who it is
					}
					f := start(t, backend, fmt.Sprintf("%s[[route]]\nlisten = ['%s://127.0.0.1:0']\n%sheader_timeout = '1h'\nupstream = [{address = 'tcp://%v'}]\n%s", text[0], scheme, text[1], o.Addr(), more))
					one, _ := f.dial(), f.dial()
					conntest.Eventually(t, func() bool { return f.Snapshot().Clients == 2 }, name, scheme, bound)
					f.refused()
					require.Zero(t, f.Snapshot().Junk)
					require.NoError(t, one.Close())
					conntest.Eventually(t, func() bool { return f.Snapshot().Clients == 1 })
					f.dial()
					conntest.Eventually(t, func() bool { return f.Snapshot().Clients == 2 })
					s := f.Snapshot()
					require.EqualValues(t, 1, s.Routes[0].Refused+s.OverAll+s.OverSource, name, scheme, bound)
					require.EqualValues(t, 1, s.Junk)
					require.NoError(t, f.Close())
				}
			}
		}
	})
}

// Each bound has lines of its own, not more than log_rate a second.
func TestClientsRefusedLeaveFewLogLines(t *testing.T) {
	const n = 40
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", echo)
		for bound, text := range map[string][2]string{
			"max_connections": {"max_connections = 1\n", ""}, "max_per_source": {"max_per_source = 1\n", ""}, "max_connections of the route": {"", "max_connections = 1\n"},
		} {
			f := start(t, backend, fmt.Sprintf("log_rate = 1\n%s[[route]]\nlisten = ['tcp://127.0.0.1:0']\n%supstream = [{address = 'tcp://%v'}]", text[0], text[1], o.Addr()))
			require.NoError(t, exchange(f.dial(), "hello"))
			for range n {
				f.refused()
			}
			conntest.Eventually(t, func() bool { return f.log.Count("connection refused beyond "+bound) > 0 }, bound)
			require.Less(t, f.log.Count("connection refused beyond "), n, bound)
			require.NoError(t, f.Close())
		}
	})
}

func TestTheClientOfAPROXYHeaderIsTheSource(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", echo)
		f := start(t, backend, fmt.Sprintf("max_per_source = 1\n[[route]]\nlisten = ['tcp://127.0.0.1:0']\nproxy_from = ['127.0.0.0/8']\nupstream = [{address = 'tcp://%v'}]", o.Addr()))
		as := func(client string) net.Conn {
			c := f.dial()
			_, err := fmt.Fprintf(c, "PROXY TCP6 %s 2001:db8::1 1 2\r\n", client)
			require.NoError(t, err)
			return c
		}
		one := as("2001:db8:1:2::1")
		require.NoError(t, exchange(one, "hello"))
		require.NoError(t, exchange(as("2001:db8:1:3::1"), "another /64"))
		_, err := as("2001:db8:1:2::2").Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.EqualValues(t, 1, f.Snapshot().OverSource)
		require.Zero(t, f.Snapshot().Junk)
		conntest.Eventually(t, func() bool { return f.log.Count("connection refused beyond max_per_source") == 1 })
		require.Zero(t, f.log.Count("without a valid PROXY"))
		require.EqualValues(t, 2, f.Snapshot().Clients)
		require.NoError(t, one.Close())
		conntest.Eventually(t, func() bool { return f.Snapshot().Clients == 1 })
		require.NoError(t, exchange(as("2001:db8:1:2::2"), "hello"))
	})
}

func TestJunkIsCountedAndItsLinesAreFew(t *testing.T) {
	s := newSecret(t, "localhost")
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", echo)
		for name, more := range before(s) {
			f := start(t, backend, fmt.Sprintf("log_rate = 1\n[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]\n%s", o.Addr(), more))
			const n = 50
			conntest.Each(t, n, func(int) error {
				c, err := dial(f.addr())
				if err != nil {
					return err
				}
				defer c.Close()
				if _, err = io.WriteString(c, "GET / HTTP/1.1\r\n\r\n"); err == nil {
					_, _ = io.Copy(io.Discard, c)
				}
				return nil
			})
			conntest.Eventually(t, func() bool { return f.Snapshot().Junk == n }, name)
			require.Less(t, f.log.Count("TLS handshake failed")+f.log.Count("without a valid PROXY"), n, name)
			require.Zero(t, f.Snapshot().Clients)
		}
	})
}

func TestAHandshakeThatSucceedsIsNoJunk(t *testing.T) {
	s := newSecret(t, "localhost")
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", echo)
		f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]\n%s", o.Addr(), before(s)["TLS"]))
		c := tls.Client(f.dial(), s.client("localhost"))
		require.NoError(t, exchange(c, "hello"))
		require.NoError(t, c.Close())
		conntest.Eventually(t, func() bool { return f.Snapshot().Clients == 0 })
		require.Zero(t, f.Snapshot().Junk)
	})
}

// The test looks at the sockets of its own process: of the two ends, the one with the listener's
// port is the proxy's.
func TestClientsAreProbed(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", echo)
		f := start(t, backend, fmt.Sprintf("keep_alive = '7s'\n[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]", o.Addr()))
		c := f.dial()
		require.NoError(t, exchange(c, "hello"))
		fd := socketBetween(t, c.RemoteAddr().(*net.TCPAddr).Port, c.LocalAddr().(*net.TCPAddr).Port)
		for _, o := range []struct{ level, option, want int }{
			{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1}, {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 7}, {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 7}, {unix.IPPROTO_TCP, unix.TCP_KEEPCNT, probes},
		} {
			got, err := unix.GetsockoptInt(fd, o.level, o.option)
			require.NoError(t, err)
			require.Equal(t, o.want, got)
		}
	})
}

// socketBetween is this process's socket that is connected from one local port to another.
func socketBetween(t *testing.T, local, remote int) int {
	t.Helper()
	port := func(a unix.Sockaddr) int {
		switch a := a.(type) {
		case *unix.SockaddrInet4:
			return a.Port
		case *unix.SockaddrInet6:
			return a.Port
		}
		return 0
	}
	for fd := range 1000 {
		from, err := unix.Getsockname(fd)
		if err != nil {
			continue
		}
		if to, err := unix.Getpeername(fd); err == nil && port(from) == local && port(to) == remote {
			return fd
		}
	}
	t.Fatal("the socket is not there")
	return -1
}
