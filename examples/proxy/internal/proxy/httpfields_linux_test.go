package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// ask sends a request, and returns its answer and the lines of the head that the upstream saw.
func (f *fixture) ask(heads <-chan string, request string) (*http.Response, []string) {
	f.t.Helper()
	c := f.dial()
	_, err := io.WriteString(c, request)
	require.NoError(f.t, err)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(f.t, err)
	return res, strings.Split(conntest.Receive(f.t, heads), "\r\n")
}

// heads is an origin that gives one answer to each request, and tells the head that it saw.
func heads(t *testing.T, answer string) (*origin, <-chan string) {
	seen := make(chan string, 10)
	return listen(t, "127.0.0.1:0", func(c net.Conn) {
		var head strings.Builder
		for in := bufio.NewReader(c); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if head.WriteString(line); line == "\r\n" {
				seen <- head.String()
				_, _ = io.WriteString(c, answer)
				return
			}
		}
	}), seen
}

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

// A tunnel with HTTP in it would take requests past the gateway.
func TestNoHTTPIsTunneled(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o, seen := heads(t, fine)
		f := start(t, backend, httpText(o.Addr()))
		for asked, passed := range map[string]string{
			"h2c": "", "H2C": "", "h2": "", "HTTP/2.0": "", "TLS/1.2, HTTP/1.1": "", "websocket": "websocket", "h2c, websocket, echo/1": "websocket, echo/1",
		} {
			_, head := f.ask(seen, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: "+asked+"\r\nHTTP2-Settings: AAMAAABk\r\n\r\n")
			if passed == "" {
				require.NotContains(t, strings.ToLower(strings.Join(head, "\n")), "upgrade", asked)
			} else {
				require.Contains(t, head, "Upgrade: "+passed, asked)
			}
			_, head = f.ask(seen, "GET / HTTP/1.1\r\nHost: a\r\nHTTP2-Settings: AAMAAABk\r\n\r\n")
			require.NotContains(t, strings.Join(head, "\n"), "HTTP2", "although it is not listed in Connection")
		}
		for _, answer := range []string{"Upgrade: h2c", "Upgrade: echo, h2c", "X: y"} {
			o, seen := heads(t, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"+answer+"\r\n\r\n")
			f := start(t, backend, httpText(o.Addr()))
			res, _ := f.ask(seen, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			require.Equal(t, 502, res.StatusCode, answer)
		}
	})
}

// Text of a client before the gateway's own element cannot make that element a part of another one.
func TestAnOpenQuoteOrCommentDoesNotSwallowTheGatewaysElement(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o, seen := heads(t, fine)
		f := start(t, backend, httpText(o.Addr()))
		own := `for=127.0.0.1;host="a";proto=http`
		_, head := f.ask(seen, "GET / HTTP/1.1\r\nHost: a\r\nForwarded: for=\"[2001:db8::1]\"\r\nVia: 1.1 b (c)\r\n\r\n")
		require.Contains(t, head, `Forwarded: for="[2001:db8::1]", `+own)
		require.Contains(t, head, "Via: 1.1 b (c), 1.1 suiro")
		for _, open := range []string{`for="192.0.2.1`, `for=x;by="`, `for="\`} {
			_, head := f.ask(seen, "GET / HTTP/1.1\r\nHost: a\r\nForwarded: for=z\r\nForwarded: "+open+"\r\nVia: 1.1 b (c\r\n\r\n")
			require.Contains(t, head, "Forwarded: "+own)
			require.Contains(t, head, "Via: 1.1 suiro")
		}
	})
}

// Only those names are announced that may follow.
func TestNoForbiddenTrailerIsAnnounced(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		names := "Content-Length, X-One,, transfer-encoding ,Host, X-Hop, authorization, a b, X-Forwarded-For, Set-Cookie, X-Two, Via, X-Real-IP, X_Sum"
		o, seen := heads(t, "HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nTrailer: "+names+"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
		f := start(t, backend, httpText(o.Addr()))
		res, head := f.ask(seen, "POST / HTTP/1.1\r\nHost: a\r\nConnection: X-Hop\r\nTrailer: "+names+"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
		require.Contains(t, head, "Trailer: X-One, X-Two")
		require.Len(t, res.Trailer, 6, "%v", res.Trailer)
		for _, name := range []string{"X-One", "X-Two", "X-Forwarded-For", "Via", "X-Real-Ip", "X_sum"} {
			require.Contains(t, res.Trailer, name, "an upstream is believed")
		}
		_, head = f.ask(seen, "POST / HTTP/1.1\r\nHost: a\r\nTrailer: Host\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
		require.NotContains(t, strings.Join(head, "\n"), "Trailer")
	})
}

// An interim answer has the time that any answer has, not what an earlier one has left.
func TestAnInterimAnswerIsNotWrittenUnderAStaleDeadline(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Punctual(t, 200*time.Millisecond, func(idle time.Duration, alive func()) error {
			answers := make(chan struct{}, 2)
			defer close(answers)
			o := listen(t, "127.0.0.1:0", func(c net.Conn) {
				in := bufio.NewReader(c)
				for range 2 {
					if _, err := http.ReadRequest(in); err != nil {
						return
					}
					<-answers
					_, _ = io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				}
			})
			f := start(t, backend, httpText(o.Addr(), "idle_timeout = '"+idle.String()+"'"))
			c := f.dial()
			if _, err := io.WriteString(c, strings.Repeat("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 2)); err != nil {
				return err
			}
			in := bufio.NewReader(c)
			for _, wait := range []time.Duration{0, 2 * idle} { // the deadline of the first answer passes
				conntest.Rest(wait, idle, alive)
				answers <- struct{}{}
				for _, status := range []int{103, 200} {
					if err := answered(in, status); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
}

// An upstream must not take fields that any client can write for fields of the gateway.
func TestFieldsThatWouldBeBelievedAreDropped(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o, seen := heads(t, fine)
		all := []string{
			"X-Real-IP: 1", "true-client-ip: 1", "X-Client-IP: 1", "X-Cluster-Client-IP: 1", "CF-Connecting-IP: 1", "Proxy: 1",
			"X-Forwarded-Port: 1", "X-Forwarded-Server: 1", "x-forwarded-ssl: 1", "X_Real_IP: 1", "X_Forwarded_For: 1", "X-Forwarded_Proto: 1",
			"Content_Length: 5", "Transfer_Encoding: chunked", "X_Kept: 1",
		}
		request := "GET / HTTP/1.1\r\nHost: a\r\nX-End: 1\r\n" + strings.Join(all, "\r\n") + "\r\n\r\n"
		for settings, passed := range map[string][]string{
			"":                   {"X-End: 1"},
			"underscores = true": {"X-End: 1", "X_Kept: 1"},
			"pass_headers = ['X-REAL-IP', 'X-Forwarded-Port', 'X-Forwarded-For']": {"X-End: 1", "X-Real-IP: 1", "X-Forwarded-Port: 1"},
			"pass_headers = ['X-Real-IP', 'Proxy']\nunderscores = true":           {"X-End: 1", "X-Real-IP: 1", "Proxy: 1", "X_Real_IP: 1", "X_Kept: 1"},
		} {
			f := start(t, backend, httpText(o.Addr(), settings))
			_, head := f.ask(seen, request)
			var got []string
			for _, line := range head[1:] {
				name, _, _ := strings.Cut(line, ":")
				switch name {
				case "", "Host", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "Forwarded", "Via":
				default:
					got = append(got, line)
				}
			}
			require.ElementsMatch(t, passed, got, settings)
			require.Contains(t, head, "X-Forwarded-For: 127.0.0.1", settings)
		}
	})
}
