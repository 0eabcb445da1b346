package h1_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/examples/http/h1"
)

func status(t testing.TB, err error) int {
	t.Helper()
	var verdict *h1.Error
	require.ErrorAs(t, err, &verdict)
	return verdict.Status
}

// A LF slipped into the part already searched goes unnoticed: proof that it is not searched again.
func TestNothingIsSearchedTwice(t *testing.T) {
	var p h1.Parser
	var req h1.Request
	head := func(buf []byte) (n int, err error) { return p.ParseHead(buf, &req) }
	body := func(buf []byte) (n int, err error) {
		n, _, _, err = p.ParseBody(buf)
		return n, err
	}
	for name, c := range map[string]struct {
		before, line string
		parse        func([]byte) (int, error)
	}{
		"request line": {"", "GET /aaaaaaaaaaaa", head},
		"field":        {"", "GET / HTTP/1.1\r\nHost: a\r\nX: aaaaaaaaaaaaaaa", head},
		"trailer":      {chunkedPost + "0\r\n", "X: aaaaaaaaaaaaaaa", body},
	} {
		p.Reset()
		if c.before != "" {
			n, err := head([]byte(c.before))
			require.NoError(t, err, name)
			_, err = body([]byte(c.before[n:]))
			require.NoError(t, err, name)
		}
		buf := []byte(c.line)
		n, err := c.parse(buf)
		require.NoError(t, err, name)
		require.Zero(t, n, name)
		buf[len(buf)-5] = '\n'
		n, err = c.parse(append(buf, 'a'))
		assert.NoError(t, err, name)
		assert.Zero(t, n, name)
	}
}

func TestRequestIsSharedByParsers(t *testing.T) {
	var req h1.Request
	one := []byte("POST /one HTTP/1.1\r\nHost: a\r\nX: 1\r\nContent-Length: 1\r\n\r\n")
	two := []byte("GET /two HTTP/1.0\r\nY: 2\r\n\r\n")
	for cut := 1; cut < len(one); cut++ {
		var p, q h1.Parser
		n, err := p.ParseHead(one[:cut], &req)
		require.NoError(t, err)
		require.Zero(t, n)
		n, err = q.ParseHead(two, &req)
		require.NoError(t, err)
		require.Equal(t, len(two), n)
		require.Equal(t, "2", string(req.Header("y")))
		require.EqualValues(t, -1, req.ContentLength)
		n, err = p.ParseHead(one, &req)
		require.NoError(t, err)
		require.Equal(t, len(one), n)
		require.Equal(t, "/one", string(req.Path))
		require.Equal(t, "a", string(req.Host))
		require.Equal(t, "1", string(req.Header("x")))
		require.Nil(t, req.Header("y"))
		require.EqualValues(t, 1, req.ContentLength)
		require.True(t, req.KeepAlive)
	}
}

func TestHeadBeforeBodysEnd(t *testing.T) {
	var p h1.Parser
	var req h1.Request
	_, err := p.ParseHead([]byte("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"), &req)
	require.NoError(t, err)
	assert.True(t, p.InBody())
	_, err = p.ParseHead([]byte("hello"+plain), &req)
	assert.Equal(t, 500, status(t, err))
	_, _, _, err = p.ParseBody([]byte("hello"))
	assert.Equal(t, 500, status(t, err), "failed for good")
	p.Reset()
	_, err = p.ParseHead([]byte(plain), &req)
	assert.NoError(t, err)
}

func TestBodyOfNone(t *testing.T) {
	var p h1.Parser
	var req h1.Request
	_, err := p.ParseHead([]byte(plain), &req)
	require.NoError(t, err)
	assert.False(t, req.HasBody())
	assert.False(t, p.InBody())
	n, chunk, done, err := p.ParseBody([]byte(plain))
	require.NoError(t, err)
	assert.True(t, done)
	assert.Zero(t, n)
	assert.Empty(t, chunk)
}

func TestExpectContinue(t *testing.T) {
	for name, c := range map[string]struct {
		head string
		want bool
	}{
		"with a body":    {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-CONTINUE\r\nContent-Length: 5\r\n\r\n", true},
		"chunked":        {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n", true},
		"without a body": {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n", false},
		"in HTTP/1.0":    {"POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", false},
	} {
		req, err := parse(c.head)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, req.ExpectContinue, name)
	}
}

// Each limit: what just fits passes, one more byte does not, in one piece or byte by byte.
func TestLimits(t *testing.T) {
	limits := &h1.Limits{Line: 40, Header: 100, Fields: 5, Body: 10, Extension: 8, Trailer: 20}
	const head = "POST / HTTP/1.1\r\nHost: a\r\n"
	const chunked = head + "Transfer-Encoding: chunked\r\n\r\n"
	pad := func(before, after string, total int) string {
		return before + strings.Repeat("x", total-len(before)-len(after)) + after
	}
	for name, c := range map[string]struct {
		fits, over string
		status     int
	}{
		"line": {
			pad("GET /", " HTTP/1.1", 40) + "\r\nHost: a\r\n\r\n", pad("GET /", " HTTP/1.1", 41) + "\r\n", 414},
		"line after empty ones": {
			"\r\n\r\n" + pad("GET /", " HTTP/1.1", 40) + "\r\nHost: a\r\n\r\n", "\r\n\r\n" + pad("GET /", "", 41), 414},
		"unfinished line": {
			pad("GET /", " HTTP/1.1", 40) + "\r\nHost: a\r\n\r\n", pad("GET /", "", 41), 414},
		"header": {
			"GET / HTTP/1.1\r\n" + pad("Host: a\r\nX: ", "\r\n\r\n", 100), "GET / HTTP/1.1\r\n" + pad("Host: a\r\nX: ", "\r\n\r\n", 101), 431},
		"unfinished header": {
			"GET / HTTP/1.1\r\n" + pad("Host: a\r\nX: ", "\r\n\r\n", 100), "GET / HTTP/1.1\r\n" + pad("Host: a\r\nX: ", "", 101), 431},
		"fields": {
			head + strings.Repeat("X:\r\n", 4) + "\r\n", head + strings.Repeat("X:\r\n", 5), 431},
		"length": {
			head + "Content-Length: 10\r\n\r\n0123456789", head + "Content-Length: 11\r\n\r\n", 413},
		"chunks": {
			chunked + "4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n", chunked + "4\r\n0123\r\n7\r\n", 413},
		"extensions": {
			chunked + "1;a=b\r\nx\r\n0;a=b\r\n\r\n", chunked + "1;a=b\r\nx\r\n0;a=bc", 400},
		"trailer": {
			chunked + "0\r\n" + pad("X: ", "\r\n\r\n", 20), chunked + "0\r\n" + pad("X: ", "", 21), 431},
	} {
		t.Run(name, func(t *testing.T) {
			for _, next := range []split{inOne, byByte} {
				rec := record(t, []byte(c.fits), limits, next)
				require.Empty(t, rec.Verdict)
				require.Len(t, rec.Messages, 1)
				require.True(t, rec.Messages[0].Complete)
				rec = record(t, []byte(c.over), limits, next)
				require.NotEmpty(t, rec.Verdict)
				require.Equal(t, c.status, verdictOn(c.over, limits))
			}
		})
	}
}

// verdictOn is the status that an input ends in; 0 for none.
func verdictOn(raw string, limits *h1.Limits) int {
	s := server{parser: h1.Parser{Limits: limits}}
	s.receive([]byte(raw))
	if s.verdict == nil {
		return 0
	}
	return s.verdict.Status
}

func TestNoBodyLimit(t *testing.T) {
	p := h1.Parser{Limits: &h1.Limits{Body: -1}}
	var req h1.Request
	_, err := p.ParseHead([]byte("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n"), &req)
	require.NoError(t, err)
	p.Reset()
	_, err = p.ParseHead([]byte(chunkedPost), &req)
	require.NoError(t, err)
	n, chunk, done, err := p.ParseBody([]byte("7fffffffffffffff\r\n"))
	require.NoError(t, err)
	assert.Equal(t, 18, n)
	assert.Empty(t, chunk)
	assert.False(t, done)
}

func TestZeroLimitsAreTheDefaults(t *testing.T) {
	for _, limits := range []*h1.Limits{nil, {}} {
		over := fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", 64<<20+1)
		assert.Equal(t, 413, verdictOn(over, limits))
		assert.Zero(t, verdictOn(strings.Replace(over, "865", "864", 1), limits))
		assert.Equal(t, 414, verdictOn("GET /"+strings.Repeat("x", 8<<10), limits))
		assert.Equal(t, 431, verdictOn("GET / HTTP/1.1\r\nX: "+strings.Repeat("x", 64<<10), limits))
	}
}
