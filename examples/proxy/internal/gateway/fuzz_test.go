package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/http/h1"
	"github.com/suiro-go/suiro/examples/proxy/internal/config"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
	"github.com/suiro-go/suiro/examples/proxy/internal/upstream"
)

// A tape is a net.Conn that plays one side's bytes, up to step of them at a time, and records
// the other's.
type tape struct {
	net.Conn
	in   []byte
	step int
	out  bytes.Buffer
}

func (t *tape) Read(p []byte) (int, error) {
	if len(t.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), t.step)], t.in)
	t.in = t.in[n:]
	return n, nil
}

func (t *tape) Write(p []byte) (int, error)      { return t.out.Write(p) }
func (t *tape) SetReadDeadline(time.Time) error  { return nil }
func (t *tape) SetWriteDeadline(time.Time) error { return nil }

// onTape is a client whose connection is a tape.
func onTape(in []byte, step int) (*client, *tape) {
	r := &route.Route{Route: &config.Route{}, Counts: new(route.Counts)}
	t := &tape{in: in, step: step}
	k := &client{
		h: &idle{route: r, filter: newFilter(r.Route)}, route: r, conn: t, buf: getBuffer(), gone: context.Background(),
		remote: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1},
	}
	k.parser.Limits, k.parser.KeepTrailer = limits, true
	return k, t
}

// forward passes all requests of raw on, as a client's goroutine does, and returns the bytes that
// the upstream gets, and how many requests were passed on whole.
func forward(raw []byte, step int) (out []byte, whole int) {
	k, _ := onTape(raw, step)
	defer putBuffer(k.buf)
	up := &tape{}
	for {
		n, err := k.parser.ParseHead(k.buf.bytes(), &k.req)
		switch {
		case err != nil || n > 0 && string(k.req.Method) == "CONNECT":
			return up.out.Bytes(), whole
		case n == 0:
			if k.buf.fill(k.conn) != nil {
				return up.out.Bytes(), whole
			}
			continue
		}
		x := exchange{client: k}
		x.request(&k.req, k.remote, false)
		k.buf.discard(n)
		_, _ = up.Write(x.head)
		if x.body && x.sendBody(&lease{conn: up, socket: conn.NewSocket()}) != nil {
			return up.out.Bytes(), whole
		}
		whole++
	}
}

// seeds are inputs on which parsers are known to differ.
func seeds(f *testing.F) (all []string) {
	for _, name := range []string{"cases.json", "more.json"} {
		text, err := os.ReadFile("../../../http/h1/testdata/" + name)
		require.NoError(f, err)
		var cases []struct{ Raw *string }
		require.NoError(f, json.Unmarshal(text, &cases))
		for _, c := range cases {
			if c.Raw != nil {
				raw := make([]byte, 0, len(*c.Raw))
				for _, r := range *c.Raw {
					raw = append(raw, byte(r))
				}
				all = append(all, string(raw))
			}
		}
	}
	require.NotEmpty(f, all)
	return all
}

// FuzzRequests compares the requests that an upstream gets with those that net/http finds in the
// client's bytes: as many, with the same method, target, host, fields and body. A request that
// was not passed on whole is none at the upstream either.
func FuzzRequests(f *testing.F) {
	for _, raw := range seeds(f) {
		f.Add([]byte(raw), uint16(1<<15))
		f.Add([]byte(raw), uint16(1))
	}
	f.Add([]byte("POST http://a/b?c HTTP/1.1\r\nHost: d\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), uint16(9))
	f.Fuzz(func(t *testing.T, raw []byte, step uint16) {
		out, whole := forward(raw, int(step)+1)
		asked, got := bufio.NewReader(bytes.NewReader(raw)), bufio.NewReader(bytes.NewReader(out))
		for range whole {
			for b, _ := asked.Peek(2); string(b) == "\r\n"; b, _ = asked.Peek(2) { // net/http takes no empty lines before a request
				_, _ = asked.Discard(2)
			}
			want, body, err := readRequest(asked)
			if err != nil && spaceAfterSize.Match(raw) {
				return
			}
			require.NoError(t, err, "net/http does not take what was passed on")
			r, same, err := readRequest(got)
			require.NoError(t, err, "%q", out)
			require.Equal(t, want.Method, r.Method)
			require.Equal(t, want.Host, r.Host)
			require.Equal(t, want.URL.RequestURI(), r.URL.RequestURI())
			require.Equal(t, body, same)
			sameFields(t, want, r)
		}
		if r, _, err := readRequest(got); err == nil {
			t.Fatalf("%s %s was not passed on whole, and the upstream takes it for a request: %q", r.Method, r.URL, out)
		}
	})
}

// spaceAfterSize is allowed by RFC 9112, 7.1.1, and not by net/http.
var spaceAfterSize = regexp.MustCompile(`(^|\n)[0-9A-Fa-f]+[ \t]+;`)

func readRequest(in *bufio.Reader) (*http.Request, string, error) {
	r, err := http.ReadRequest(in)
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(r.Body)
	return r, string(body), err
}

// sameFields requires that an upstream sees the client's fields, but those that do not go on, and
// beside them only those of the gateway.
func sameFields(t *testing.T, want, got *http.Request) {
	t.Helper()
	f := &filter{}
	var names []string
	for _, v := range want.Header["Connection"] {
		for n := range strings.SplitSeq(v, ",") {
			names = append(names, strings.ToLower(strings.TrimSpace(n)))
		}
	}
	stays := func(name string) bool {
		return among([]byte(name), hop) || among([]byte(name), names) || f.drops([]byte(name))
	}
	for name, values := range want.Header {
		if !stays(name) {
			require.Equal(t, values, got.Header[name], name)
		}
	}
	for name := range got.Header {
		if !stays(name) {
			require.Contains(t, want.Header, name)
		} else {
			require.True(t, among([]byte(name), own) || slices.Contains([]string{"Te", "Connection", "Upgrade", "Content-Length"}, name), name)
		}
	}
	require.Equal(t, "192.0.2.1", last(got.Header.Get("X-Forwarded-For")))
	require.True(t, isForwarded(got.Header.Get("Forwarded")))
	for name, values := range got.Trailer {
		require.False(t, stays(name), name)
		require.Equal(t, want.Trailer[name], values, name)
	}
}

func last(list string) string { return strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:]) }

// FuzzAnswers compares the answer that a client gets with the one that net/http finds in the
// upstream's bytes. An answer that is refused, or cut short, is no whole one for the client.
func FuzzAnswers(f *testing.F) {
	for _, raw := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.0 200 OK\r\n\r\nuntil the end", "HTTP/1.1 204 No\r\n\r\n", "HTTP/1.1 304 Not\r\nContent-Length: 9\r\n\r\n", "HTTP/1.1 101 Other\r\nUpgrade: h2c\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
	} {
		f.Add([]byte(raw), uint16(1<<15), false)
		f.Add([]byte(raw), uint16(0), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, step uint16, head bool) {
		k, c := onTape(nil, 1)
		defer putBuffer(k.buf)
		x := exchange{client: k, method: "GET", minor: 1, keepAlive: true, up: new(upstream.Upstream)}
		if head {
			x.method = "HEAD"
		}
		_, _, err := x.answer(&lease{conn: &tape{in: raw, step: int(step) + 1}, socket: conn.NewSocket()})
		in := bufio.NewReader(&c.out)
		res, body, bad := readAnswer(in, x.method)
		var verdict *h1.Error
		var failed *unanswered
		switch {
		case errors.As(err, &verdict), errors.As(err, &failed):
			require.Error(t, bad, "nothing but interim answers are out")
			require.Zero(t, x.status)
			return
		case err != nil:
			require.Error(t, bad, "it is cut short: %v", err)
			return
		}
		require.NoError(t, bad)
		want, all, err := readAnswer(bufio.NewReader(bytes.NewReader(raw)), x.method)
		if err != nil {
			return // h1 reads more lists of equal lengths, and more trailers
		}
		require.Equal(t, want.StatusCode, res.StatusCode)
		require.Equal(t, all, body)
		for name, values := range res.Header {
			if !among([]byte(name), hop) && (name != "Date" || want.Header[name] != nil) {
				require.Equal(t, want.Header[name], values, name)
			}
		}
		_, err = in.ReadByte()
		require.ErrorIs(t, err, io.EOF, "bytes follow that the next answer would begin with")
	})
}

// readAnswer passes interim answers over.
func readAnswer(in *bufio.Reader, method string) (*http.Response, string, error) {
	for {
		res, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			return nil, "", err
		}
		if res.StatusCode >= 200 {
			body, err := io.ReadAll(res.Body)
			return res, string(body), err
		}
	}
}
