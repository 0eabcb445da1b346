package proxy

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// most is more than sockets of both sides and the gateway ever hold of an upload that nobody wants.
const most = 48 << 20

// After its answer, an upload is neither passed on nor read without end.
func TestAnUploadEndsSoonAfterAnEarlyAnswer(t *testing.T) {
	s := newSecret(t, "localhost")
	conntest.Backends(t, func(t *testing.T, backend string) {
		var got atomic.Int64
		o := listen(t, "127.0.0.1:0", func(c net.Conn) {
			in := bufio.NewReader(c)
			if _, err := http.ReadRequest(in); err == nil {
				_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
				n, _ := io.Copy(io.Discard, in)
				got.Add(n)
			}
		})
		for name, f := range map[string]*fixture{
			"plain":  start(t, backend, httpText(o.Addr(), endless)),
			"in TLS": start(t, backend, httpText(o.Addr(), endless, fmt.Sprintf("tls = {certificate = '%s', key = '%s'}", s.cert, s.key))),
		} {
			for _, framing := range []string{"Content-Length: 1000000000000", "Transfer-Encoding: chunked"} {
				got.Store(0)
				var c net.Conn = f.dial()
				if name == "in TLS" {
					c = tls.Client(c, s.client("localhost"))
				}
				_, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\n"+framing+"\r\n\r\n")
				require.NoError(t, err)
				in := bufio.NewReader(c)
				res, err := http.ReadResponse(in, nil)
				require.NoError(t, err)
				require.Equal(t, 413, res.StatusCode)
				p, err := io.ReadAll(res.Body)
				require.NoError(t, err, "%s: the whole answer arrives", name)
				require.Equal(t, "no", string(p))
				chunk := make([]byte, 8+1<<20+2)
				copy(chunk, "bodybody")
				if framing == "Transfer-Encoding: chunked" {
					copy(chunk, "100000\r\n")
					copy(chunk[8+1<<20:], "\r\n")
				}
				sent := 0
				for err == nil && sent < 2*most {
					var n int
					n, err = c.Write(chunk)
					sent += n
				}
				require.Less(t, sent, most, "%s, %s", name, framing)
				require.Less(t, got.Load(), int64(most), "%s, %s", name, framing)
				conntest.Eventually(t, func() bool { return f.route().Active == 0 && f.route().Upstreams[0].Active == 0 })
			}
		}
	})
}

// An upstream that ends in the midst of an upload is a 502, not a reset.
func TestAnUpstreamThatEndsWithinAnUploadIsA502(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", func(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)) })
		f := start(t, backend, httpText(o.Addr(), endless))
		for range 2 {
			c := f.dial()
			_, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nbody")
			require.NoError(t, err)
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			require.Equal(t, 502, res.StatusCode)
		}
		require.NotZero(t, f.route().Upstreams[0].Failures)
	})
}
