package proxy

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
)

// departures are the ways in which a client goes away.
var departures = map[string]func(*net.TCPConn){
	"reset":      reset,
	"close":      func(c *net.TCPConn) { _ = c.Close() },
	"half-close": func(c *net.TCPConn) { _ = c.CloseWrite() },
}

func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// endless are time-outs that no test waits for: nothing but the client's end may end an exchange.
const endless = "reply_timeout = '1h'\nidle_timeout = '1h'\nconnect_timeout = '1h'\nretries = -1"

// The upstream is never kept busy for a client that has gone away, in whatever state it is.
func TestAClientThatGoesAwayEndsItsExchange(t *testing.T) {
	s := newSecret(t, "localhost")
	conntest.Backends(t, func(t *testing.T, backend string) {
		begun, ended := make(chan string, 1), make(chan string, 1)
		h := func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/answering":
				_ = http.NewResponseController(w).Flush()
			case "/uploading":
				_, _ = io.ReadFull(r.Body, make([]byte, 4))
			}
			begun <- r.URL.Path
			if r.URL.Path == "/uploading" {
				_, _ = io.Copy(io.Discard, r.Body)
			} else {
				<-r.Context().Done()
			}
			ended <- r.URL.Path
		}
		plain, _ := behindHTTP(t, backend, h, endless)
		covered, _ := behindHTTP(t, backend, h, endless, fmt.Sprintf("tls = {certificate = '%s', key = '%s'}", s.cert, s.key))
		uncovered, _ := behindTLS(t, backend, s, h, endless)
		for name, f := range map[string]*fixture{"plain": plain, "TLS to the client": covered, "TLS to the upstream": uncovered} {
			for how, depart := range departures {
				for path, request := range map[string]string{
					"/thinking":  "GET /thinking HTTP/1.1\r\nHost: a\r\n\r\n",
					"/answering": "GET /answering HTTP/1.1\r\nHost: a\r\n\r\n",
					"/uploading": "POST /uploading HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nbody",
				} {
					raw := f.dial()
					var c net.Conn = raw
					if f == covered {
						c = tls.Client(raw, s.client("localhost"))
					}
					_, err := io.WriteString(c, request)
					require.NoError(t, err)
					require.Equal(t, path, conntest.Receive(t, begun, name, how))
					if path == "/answering" {
						_, err = bufio.NewReader(c).ReadString('\n')
						require.NoError(t, err)
					}
					depart(raw)
					require.Equal(t, path, conntest.Receive(t, ended, name, how))
				}
			}
			conntest.Eventually(t, func() bool {
				r := f.route()
				return r.Active == 0 && r.Upstreams[0].Active == 0
			}, name)
			require.True(t, f.route().Upstreams[0].Healthy, "it is not charged with its clients' ends")
			require.Zero(t, f.route().Upstreams[0].Failures)
		}
	})
}

// An attempt to connect that nobody waits for is given up.
func TestAClientThatGoesAwayEndsTheDial(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		hole := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
		hole.Swallow(t)
		f := start(t, backend, httpText(hole.Addr(), endless))
		for _, depart := range departures {
			c := f.dial()
			_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			require.NoError(t, err)
			conntest.Eventually(t, func() bool { return f.route().Upstreams[0].Active == 1 })
			depart(c)
			conntest.Eventually(t, func() bool {
				r := f.route()
				return r.Active == 0 && r.Upstreams[0].Active == 0
			})
			require.Zero(t, f.route().Upstreams[0].Failures)
		}
	})
}

// Of a body that nobody takes most stays unread: a reset behind it is noticed all the same.
func TestAResetBehindABodyThatIsNotTakenEndsItsExchange(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		hole := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
		hole.Swallow(t)
		begun, taken, ended := make(chan struct{}, 1), make(chan struct{}), make(chan error, 1)
		o := listen(t, "127.0.0.1:0", func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			begun <- struct{}{}
			<-taken
			_, err := io.Copy(io.Discard, c)
			ended <- err
		})
		for name, to := range map[string]net.Addr{"dialed": hole.Addr(), "silent": o.Addr()} {
			f := start(t, backend, httpText(to, endless))
			c := f.dial()
			go func() { // until nothing goes on
				_, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000\r\n\r\n")
				for p := make([]byte, 1<<16); err == nil; {
					_, err = c.Write(p)
				}
			}()
			conntest.Eventually(t, func() bool { return f.route().Active == 1 && f.upstream(0).Active == 1 }, name)
			if name == "silent" {
				conntest.Receive(t, begun)
			}
			fd := socketBetween(t, c.LocalAddr().(*net.TCPAddr).Port, c.RemoteAddr().(*net.TCPAddr).Port)
			conntest.Eventually(t, func() bool { // the proxy receives no more
				unsent, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
				return err == nil && unsent > 64<<10
			}, name)
			reset(c)
			conntest.Eventually(t, func() bool { return f.route().Active == 0 && f.upstream(0).Active == 0 }, name)
			require.Zero(t, f.upstream(0).Failures, name)
		}
		close(taken)
		require.ErrorIs(t, conntest.Receive(t, ended), syscall.ECONNRESET)
	})
}

// Clients that ask and reset, over and over, have no more exchanges than connections.
func TestRequestsAreBoundedAlthoughTheirClientsReset(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		begun := make(chan bool, 300)
		var now atomic.Int64
		f, _ := behindHTTP(t, backend, func(_ http.ResponseWriter, r *http.Request) {
			now.Add(1)
			begun <- true
			<-r.Context().Done()
			now.Add(-1)
		}, endless, "max_connections = 5")
		for served := 0; served < 300; {
			c, err := dial(f.addr())
			if err != nil {
				continue // it was one too many, and was reset
			}
			refused := make(chan bool, 1)
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			go func() {
				_, err := c.Read(make([]byte, 1))
				refused <- errors.Is(err, syscall.ECONNRESET)
			}()
			select {
			case <-begun:
				served++
			case r := <-refused:
				require.True(t, r)
			}
			require.LessOrEqual(t, f.route().Upstreams[0].Active, int64(5))
			reset(c.(*net.TCPConn))
		}
		conntest.Eventually(t, func() bool {
			return now.Load() == 0 && f.route().Active == 0 && f.route().Upstreams[0].Active == 0
		})
	})
}

// A client resets in the midst of an upload. The result does not depend on which side notices
// first.
func TestAResetWithinAnUploadEndsTheUpstreamsConnection(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		var now atomic.Int64
		f, _ := behindHTTP(t, backend, func(w http.ResponseWriter, r *http.Request) {
			now.Add(1)
			defer now.Add(-1)
			rc := http.NewResponseController(w)
			_ = rc.EnableFullDuplex()
			_ = rc.Flush()
			_, _ = io.Copy(io.Discard, r.Body)
		}, endless)
		conntest.Crowd(t, 200, 8, func(i int) error {
			c, err := dial(f.addr())
			if err != nil {
				return err
			}
			_, err = io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
			if err == nil && i%2 == 0 {
				_, err = c.Read(make([]byte, 1))
			}
			reset(c.(*net.TCPConn))
			return err
		})
		conntest.Eventually(t, func() bool { return now.Load() == 0 && f.route().Upstreams[0].Active == 0 })
	})
}
