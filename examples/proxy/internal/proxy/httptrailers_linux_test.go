package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

func TestTrailersPassBothWays(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, _ := behindHTTP(t, backend, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-Sum, X-Te")
			_, _ = io.Copy(w, r.Body)
			w.Header().Set("X-Sum", r.Trailer.Get("X-Sum"))
			w.Header().Set("X-Te", r.Header.Get("Te"))
			w.Header().Set(http.TrailerPrefix+"X-Late", "unannounced")
		})
		for range 2 { // the second on the same connections
			r, err := http.NewRequest("POST", "http://"+f.addr(), struct{ io.Reader }{strings.NewReader("body")})
			require.NoError(t, err)
			r.Trailer = http.Header{"X-Sum": {"of the body"}}
			r.Header.Set("Te", "trailers")
			res, err := browser(t).Do(r)
			require.NoError(t, err)
			require.Contains(t, res.Trailer, "X-Sum", "announced")
			p, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, "body", string(p))
			require.Equal(t, http.Header{"X-Sum": {"of the body"}, "X-Te": {"trailers"}, "X-Late": {"unannounced"}}, res.Trailer)
		}
	})
}

// Three kinds of fields do not pass in a trailer: those that are forbidden there, those that
// concern the connection, and those that only the gateway may write.
func TestATrailerCarriesNothingThatAHeadMustNot(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		trailers := make(chan http.Header, 1)
		f, _ := behindHTTP(t, backend, func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			if err == nil {
				trailers <- r.Trailer
			}
		})
		post := func(trailer string) int {
			c := f.dial()
			_, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nConnection: X-Hop\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"+trailer+"\r\n")
			require.NoError(t, err)
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			return res.StatusCode
		}
		require.Equal(t, 200, post("X-End:  2 \r\nX-Hop: 1\r\nX-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.1\r\nVia: 1.1 me\r\n"))
		require.Equal(t, http.Header{"X-End": {"2"}}, conntest.Receive(t, trailers))
		for _, bad := range []string{"Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Host: b\r\n", "Authorization: x\r\n", "X: a\n\r\n"} {
			require.Equal(t, 400, post(bad), bad)
			require.Empty(t, trailers, bad)
		}
	})
}

// A client of HTTP/1.0 knows neither chunks nor trailers.
func TestTrailersEndAtAClientOfHTTP10(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", func(c net.Conn) {
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil && r.Header.Get("Te") == "" {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nDate: now\r\nTrailer: X-End\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-End: 1\r\n\r\n")
			}
		})
		f := start(t, backend, httpText(o.Addr()))
		c := f.dial()
		_, err := io.WriteString(c, "GET / HTTP/1.0\r\nConnection: keep-alive, TE\r\nTE: trailers\r\n\r\n")
		require.NoError(t, err)
		p, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, "HTTP/1.1 200 OK\r\nDate: now\r\nConnection: close\r\n\r\nok", string(p))
	})
}
