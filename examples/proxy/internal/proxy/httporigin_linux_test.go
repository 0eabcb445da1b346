package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// A client of HTTP/1.0 may name no host, and HTTP/1.1 allows an empty one.
func TestARequestWithoutAHostGetsTheUpstreamsName(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o, seen := heads(t, fine)
		f := start(t, backend, httpText(o.Addr()))
		for request, host := range map[string]string{
			"GET / HTTP/1.0\r\n\r\n":               o.Addr().String(),
			"GET / HTTP/1.0\r\nHost: a\r\n\r\n":    "a",
			"GET / HTTP/1.0\r\nHost:\r\n\r\n":      o.Addr().String(),
			"GET / HTTP/1.1\r\nHost:\r\n\r\n":      o.Addr().String(),
			"GET http://b:1/ HTTP/1.0\r\n\r\n":     "b:1",
			"OPTIONS http://b HTTP/1.0\r\n\r\n":    "b",
			"GET /?Host:%20x HTTP/1.0\r\n\r\n":     o.Addr().String(),
			"POST / HTTP/1.0\r\nX-Host: y\r\n\r\n": o.Addr().String(),
		} {
			res, lines := f.ask(seen, request)
			require.Equal(t, 200, res.StatusCode, request)
			require.Equal(t, "Host: "+host, lines[1], request)
			require.Equal(t, host != o.Addr().String(), strings.Contains(strings.Join(lines, "\n"), "\nX-Forwarded-Host: "), request)
		}
	})
}

func TestAnUpstreamWithoutANameIsLocalhost(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
		require.NoError(t, err)
		host := make(chan string, 1)
		serveAll(t, ln, func(c net.Conn) {
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				host <- r.Host
				_, _ = io.WriteString(c, fine)
			}
		})
		f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['http://127.0.0.1:0']\nupstream = [{address = 'unix://%v'}]", ln.Addr()))
		require.Equal(t, 200, f.send("GET / HTTP/1.0\r\n\r\n").StatusCode)
		require.Equal(t, "localhost", conntest.Receive(t, host))
	})
}

// RFC 9112, 3.2.4: without a path, the absolute form of OPTIONS means the server as a whole.
func TestOptionsOfAServerInAbsoluteFormAreThoseOfTheServer(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o, seen := heads(t, fine)
		f := start(t, backend, httpText(o.Addr()))
		for target, want := range map[string]string{
			"OPTIONS *":            "OPTIONS *",
			"OPTIONS http://a:1":   "OPTIONS *",
			"OPTIONS HTTPS://a":    "OPTIONS *",
			"OPTIONS http://a/":    "OPTIONS /",
			"OPTIONS http://a?x":   "OPTIONS /?x",
			"OPTIONS http://a?":    "OPTIONS /?",
			"OPTIONS http://a/x":   "OPTIONS /x",
			"OPTIONS /":            "OPTIONS /",
			"GET http://a":         "GET /",
			"OPTIONS http://a/?/x": "OPTIONS /?/x",
		} {
			_, lines := f.ask(seen, target+" HTTP/1.1\r\nHost: a\r\n\r\n")
			require.Equal(t, want+" HTTP/1.1", lines[0], target)
		}
	})
}

// RFC 9110, 6.6.1: who passes an answer without a date on adds one.
func TestEachAnswerHasADate(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, answer := answering(t, backend)
		for name, c := range map[string]struct{ answer, fields string }{
			"of the upstream": {hello, ""},
			"of an error":     {"SSH-2.0-OpenSSH_9.2\r\n\r\n", ""},
			"of a refusal":    {hello, "Content-Length: x\r\n"},
		} {
			answer.Store(c.answer)
			client := f.dial()
			before := time.Now().Truncate(time.Second)
			res, _ := get(t, client, bufio.NewReader(client), c.fields)
			require.Len(t, res.Header["Date"], 1, name)
			at, err := http.ParseTime(res.Header.Get("Date"))
			require.NoError(t, err, name)
			require.False(t, at.Before(before) || at.After(time.Now()), "%s: %v", name, at)
		}
		answer.Store("HTTP/1.1 200 OK\r\ndate: then\r\nContent-Length: 0\r\n\r\n")
		c := f.dial()
		res, _ := get(t, c, bufio.NewReader(c), "")
		require.Equal(t, []string{"then"}, res.Header["Date"], "the upstream's stays")
		answer.Store("HTTP/1.1 103 Hints\r\nX: y\r\n\r\n" + hello)
		c = f.dial()
		_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		require.NoError(t, err)
		in := bufio.NewReader(c)
		res, err = http.ReadResponse(in, nil)
		require.NoError(t, err)
		require.Equal(t, 103, res.StatusCode)
		require.Empty(t, res.Header.Get("Date"), "an interim answer needs none")
	})
}

func TestAConnectionThatIsNotEstablishedInTimeIsA504(t *testing.T) {
	s := newSecret(t, "localhost")
	conntest.Backends(t, func(t *testing.T, backend string) {
		hole := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
		hole.Swallow(t)
		silent := listen(t, "127.0.0.1:0", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }) // no handshake
		gone := listen(t, "127.0.0.1:0", echo)
		gone.kill()
		const limit = "connect_timeout = '100ms'"
		for name, c := range map[string]struct {
			text   string
			status int
		}{
			"no answer to a SYN": {httpText(hole.Addr(), limit), 504},
			"no handshake":       {secretText(silent.Addr(), s, limit), 504},
			"refused":            {httpText(gone.Addr()), 502},
		} {
			f := start(t, backend, c.text)
			require.Equal(t, c.status, f.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").StatusCode, name)
			require.EqualValues(t, 1, f.upstream(0).Failures, name)
		}
	})
}
