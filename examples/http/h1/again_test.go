package h1_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/examples/http/h1"
)

// A Request that has seen a head must see one that differs in any byte as if it had seen none.
func TestAHeadThatIsNearlyTheLastOneIsParsedAnew(t *testing.T) {
	for _, raw := range []string{plain, "GET /a?b HTTP/1.1\r\nHost: a:1\r\nConnection: close\r\n\r\n", "GET http://b/ HTTP/1.0\r\nHost: a\r\n\r\n"} {
		for i := range len(raw) {
			for _, c := range []byte("/ ?:\r\nGX0\x80") {
				var req h1.Request
				record := func(raw []byte) recording { return recordIn(t, &req, raw, nil, inOne) }
				first := record([]byte(raw))
				odd := []byte(raw)
				odd[i] = c
				want := recordIn(t, new(h1.Request), odd, nil, inOne)
				require.Equal(t, want, record(odd), "%q after %q", odd, raw)
				require.Equal(t, want, record(odd), "%q again", odd)
				require.Equal(t, first, record([]byte(raw)), "%q after %q", raw, odd)
			}
		}
	}
}

// Another request line before the same block, and another block behind the same line.
func TestPartsOfTheLastHeadMayComeAgain(t *testing.T) {
	lines := []string{"GET /a HTTP/1.1\r\n", "POST /longer?q HTTP/1.0\r\n", "GET http://h:1/p?q HTTP/1.1\r\n", "OPTIONS * HTTP/1.1\r\n", "CONNECT h:1 HTTP/1.1\r\n", "GET /a? HTTP/1.1\r\n"}
	blocks := []string{"Host: a\r\n\r\n", "Host: b\r\nX: y\r\n\r\n", "\r\n", "Host: a\r\nHost: a\r\n\r\n", "Host: a\r\nX: " + string(bytes.Repeat([]byte("x"), 2000)) + "\r\n\r\n"}
	var req h1.Request
	for range 2 {
		for _, a := range lines {
			for _, b := range blocks {
				for _, l := range append(lines, "\r\n"+a) {
					recordIn(t, &req, []byte(a+b), nil, inOne)
					raw := []byte(l + b + l + b)
					require.Equal(t, record(t, raw, nil, inOne), recordIn(t, &req, raw, nil, inOne), "%q", raw)
				}
				for _, other := range blocks {
					recordIn(t, &req, []byte(a+b), nil, inOne)
					raw := []byte(a + other)
					require.Equal(t, record(t, raw, nil, inOne), recordIn(t, &req, raw, nil, inOne), "%q", raw)
				}
			}
		}
	}
}

func TestAHeadThatComesAgainIsHeldToTheParsersLimits(t *testing.T) {
	const raw = "GET /a HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n"
	for _, limits := range []*h1.Limits{{Header: 16}, {Fields: 1}, {Line: 10}} {
		var req h1.Request
		recordIn(t, &req, []byte(raw), nil, inOne)
		want := record(t, []byte(raw), limits, inOne)
		require.NotEmpty(t, want.Verdict)
		require.Equal(t, want, recordIn(t, &req, []byte(raw), limits, inOne))
	}
}

// Changes that a handler makes to its request do not affect the next request.
func TestAChangedRequestIsWholeAgain(t *testing.T) {
	var p h1.Parser
	var req h1.Request
	raw := []byte("GET /a/b?c HTTP/1.1\r\nHost: a\r\n\r\n")
	for range 3 {
		n, err := p.ParseHead(raw, &req)
		require.NoError(t, err)
		require.Equal(t, len(raw), n)
		require.Equal(t, []string{"GET", "/a/b?c", "/a/b", "c", "a"},
			[]string{string(req.Method), string(req.Target), string(req.Path), string(req.Query), string(req.Host)})
		require.Equal(t, 1, req.Minor)
		require.True(t, req.KeepAlive)
		req.Method, req.Target, req.Path, req.Query, req.Host, req.Minor, req.KeepAlive = nil, nil, req.Path[1:], nil, nil, 0, false
	}
}
