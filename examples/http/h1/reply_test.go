package h1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// replies reads all answers of a connection, in pieces of n bytes.
func readReply(raw []byte, method string, n int) (r Reply, body []byte, rest int, err error) {
	var p ReplyParser
	have, used := 0, 0
	more := func() bool {
		if have == len(raw) {
			return false
		}
		have = min(len(raw), have+n)
		return true
	}
	for {
		k, err := p.ParseHead(raw[used:have], method, &r)
		if err != nil {
			return r, nil, 0, err
		}
		if k > 0 {
			used += k
			break
		}
		if !more() {
			return r, nil, 0, io.ErrUnexpectedEOF
		}
	}
	if r.UntilClose {
		return r, raw[used:], 0, nil
	}
	for {
		k, chunk, done, err := p.ParseBody(raw[used:have])
		if err != nil {
			return r, nil, 0, err
		}
		body = append(body, chunk...)
		used += k
		if done {
			return r, body, len(raw) - used, nil
		}
		if k == 0 && !more() {
			return r, body, 0, io.ErrUnexpectedEOF
		}
	}
}

func TestRepliesAreReadHoweverTheyAreSplit(t *testing.T) {
	for _, c := range []struct {
		raw, method, body string
		status            int
		until, keep       bool
		rest              int
	}{
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhellonext", "GET", "hello", 200, false, true, 4},
		{"HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n", "GET", "hello", 200, false, true, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD", "", 200, false, true, 0},
		{"HTTP/1.1 204 No Content\r\n\r\n", "GET", "", 204, false, true, 0},
		{"HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\n\r\n", "GET", "", 304, false, true, 0},
		{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n", "POST", "", 100, false, true, 17},
		{"HTTP/1.1 200 OK\r\n\r\nto the end", "GET", "to the end", 200, true, false, 0},
		{"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "GET", "ok", 200, false, false, 0},
		{"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", "GET", "ok", 200, false, true, 0},
		{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", "GET", "ok", 200, false, false, 0},
		{"HTTP/1.1 200 OK\nA: b\nContent-Length: 2\n\nok\n", "GET", "ok", 200, false, true, 1},
		{"HTTP/1.1 200\r\nContent-Length: 2\n\r\nok", "GET", "ok", 200, false, true, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: b\r\ncontent-length: 2\r\n\r\nok", "GET", "ok", 200, false, true, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", "GET", "ok", 200, false, true, 0},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5   \r\nhello\r\n00\t \r\n\r\n", "GET", "hello", 200, false, true, 0},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0005 ; a b = \"c;\r\nhello\r\n0;\r\n\r\n", "GET", "hello", 200, false, true, 0},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nSet-Cookie: a=b\r\nX: y\nContent-Length: 5\n\n", "GET", "ok", 200, false, true, 0},
		{"HTTP/1.1 101 Switching\r\nContent-Length: 0\r\n\r\nmore", "GET", "", 101, false, true, 4},
		{"HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n", "GET", "", 204, false, true, 0},
		{"HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\nhello", "GET", "", 204, false, false, 5},
		{"HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", "", 204, false, false, 0},
	} {
		for n := 1; n <= len(c.raw); n++ {
			r, body, rest, err := readReply([]byte(c.raw), c.method, n)
			require.NoError(t, err, "%q by %d", c.raw, n)
			require.Equal(t, c.status, r.Status)
			require.Equal(t, c.body, string(body), "%q by %d", c.raw, n)
			require.Equal(t, []bool{c.until, c.keep}, []bool{r.UntilClose, r.KeepAlive}, c.raw)
			require.Equal(t, c.rest, rest, "%q by %d", c.raw, n)
		}
	}
}

func TestRepliesThatTwoCouldReadDifferentlyAreErrors(t *testing.T) {
	for _, head := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5,\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA: b\rB: c\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA: b\r\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\rA: b\r\n\r\n",
		"HTTP/1.1 200 O\rK\r\n\r\n",
		"HTTP/1.1 200 OK\n A: b\n\n",
		"HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA: \x00\r\n\r\n",
		"HTTP/1.1 99 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "ICY 200 OK and more\r\n\r\n",
		"HTTP/1.1 101 Switching\r\nContent-Length: 1\r\n\r\n",
		"HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5 x\r\nhello\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a\nb\r\nhello\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a\rb\r\nhello\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5" + strings.Repeat(" ", 5<<10) + "\r\n",
		"HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 80<<10) + "\r\n\r\n",
	} {
		_, _, _, err := readReply([]byte(head+"0\r\n\r\n"), "GET", len(head)+5)
		var verdict *Error
		require.True(t, errors.As(err, &verdict), "%q: %v", head, err)
	}
}

// Padding may grow with the body, so that a server which pads each size may send any length.
func TestPaddedChunksHaveNoBoundInAll(t *testing.T) {
	const chunks = 3000
	raw := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("8       \r\n12345678\r\n", chunks) + "0\r\n\r\n"
	_, body, _, err := readReply([]byte(raw), "GET", len(raw))
	require.NoError(t, err)
	require.Len(t, body, 8*chunks)
}

func TestAReplysTrailerHasOnlyFieldsThatItMay(t *testing.T) {
	p := ReplyParser{KeepTrailer: true}
	var r Reply
	raw := []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: 1\r\nSet-Cookie: a=b\r\nB: 2\nContent-Length: 9\r\n\n")
	n, err := p.ParseHead(raw, "GET", &r)
	require.NoError(t, err)
	_, _, done, err := p.ParseBody(raw[n:])
	require.NoError(t, err)
	require.True(t, done)
	require.Equal(t, "A: 1\r\nB: 2\r\n", string(p.Trailer()))
}

// net/http parses each reply that the parser accepts in the same way.
func FuzzReply(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), false, byte(3))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\n\r\n"), false, byte(1))
	f.Add([]byte("HTTP/1.1 304 \r\nEtag: x\r\n\r\n"), true, byte(9))
	f.Fuzz(func(t *testing.T, raw []byte, head bool, piece byte) {
		method := "GET"
		if head {
			method = "HEAD"
		}
		r, body, _, err := readReply(raw, method, len(raw)+1)
		again, split, _, splitErr := readReply(raw, method, int(piece)+1)
		if r.Status == 204 { // whether a byte follows depends on how it was split
			return
		}
		if (err == nil) != (splitErr == nil) || err == nil && (again.Status != r.Status || !bytes.Equal(split, body)) {
			t.Fatalf("whole: %d %q %v, split: %d %q %v", r.Status, body, err, again.Status, split, splitErr)
		}
		if err != nil || r.Status < 200 && r.Status != 101 {
			return
		}
		theirs, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), &http.Request{Method: method})
		if err != nil {
			return // they are stricter somewhere: no harm
		}
		defer theirs.Body.Close()
		got, err := io.ReadAll(theirs.Body)
		if r.Status != 101 && err == nil && (theirs.StatusCode != r.Status || !bytes.Equal(got, body)) {
			t.Fatalf("%d %q, net/http: %d %q", r.Status, body, theirs.StatusCode, got)
		}
	})
}
