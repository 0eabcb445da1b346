package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// ill are upstreams to which one can connect, and which do not answer.
var ill = map[string]func(net.Conn){
	"closes at once":      func(net.Conn) {},
	"closes after a head": func(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)) },
	"resets after a head": func(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)); reset(c.(*net.TCPConn)) },
	"hangs":               func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
	"speaks no HTTP": func(c net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(c))
		_, _ = io.WriteString(c, "SSH-2.0-x\r\n\r\n")
	},
	"breaks off in a head": func(c net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(c))
		_, _ = io.WriteString(c, "HTTP/1.1 200 O")
	},
}

// An upstream that accepts and does not answer is passed over for requests that can be
// repeated, and ejected, as one that refuses connections is.
func TestAnUpstreamThatAcceptsAndDoesNotAnswerIsEjected(t *testing.T) {
	for name, serve := range ill {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				bad := listen(t, "127.0.0.1:0", serve)
				good := listen(t, "127.0.0.1:0", func(c net.Conn) {
					for in := bufio.NewReader(c); ; {
						r, err := http.ReadRequest(in)
						if err != nil {
							return
						}
						_, _ = io.Copy(io.Discard, r.Body)
						_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
					}
				})
				fails := 2
				if name == "hangs" {
					fails = 1 // each is waited for
				}
				text := fmt.Sprintf("[[route]]\nlisten = ['http://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}, {address = 'tcp://%v'}]\nreply_timeout = '3s'\nhealth = {fails = %d, eject = '1h'}",
					bad.Addr(), good.Addr(), fails)
				answered := strings.HasPrefix(name, "speaks") || strings.HasPrefix(name, "breaks") // not HTTP, but bytes
				for _, method := range []string{"GET", "POST"} {
					f := start(t, backend, text)
					c := browser(t)
					failed := 0
					for range 10 {
						r, err := http.NewRequest(method, "http://"+f.addr(), strings.NewReader("body"[:4*(len(method)-3)]))
						require.NoError(t, err)
						res, err := c.Do(r)
						require.NoError(t, err)
						_, _ = io.Copy(io.Discard, res.Body)
						require.NoError(t, res.Body.Close())
						if res.StatusCode != 200 {
							require.Contains(t, []int{502, 504}, res.StatusCode)
							failed++
						}
					}
					if method == "GET" && !answered {
						require.Zero(t, failed, "another one is asked")
					} else {
						require.Equal(t, fails, failed, "what might be done twice is asked once")
					}
					u := f.route().Upstreams
					require.False(t, u[0].Healthy)
					require.True(t, u[1].Healthy)
				}
			})
		})
	}
}
