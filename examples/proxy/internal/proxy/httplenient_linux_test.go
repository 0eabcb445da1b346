package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// answering is a proxy before an origin that gives the stored answer to each request.
func answering(t *testing.T, backend string) (*fixture, *atomic.Value) {
	answer := new(atomic.Value)
	o := listen(t, "127.0.0.1:0", func(c net.Conn) {
		for in := bufio.NewReader(c); ; {
			if _, err := http.ReadRequest(in); err != nil {
				return
			}
			_, _ = io.WriteString(c, answer.Load().(string))
		}
	})
	return start(t, backend, httpText(o.Addr())), answer
}

const hello = "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 5\r\n\r\nhello"

// get sends a request on c, and returns the answer with its body. Answers of 103 have no body.
func get(t *testing.T, c net.Conn, in *bufio.Reader, fields string) (*http.Response, string) {
	t.Helper()
	_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n"+fields+"\r\n")
	require.NoError(t, err)
	for {
		res, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		if res.StatusCode == 103 {
			require.Empty(t, res.Header.Get("Content-Length"))
			continue
		}
		if res.StatusCode == 101 {
			return res, ""
		}
		p, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res, string(p)
	}
}

// Old servers deviate from RFC 9112 where all clients read the same. The client gets an answer
// without the deviation in its framing.
func TestInnocentDeviationsOfAnswersArePassed(t *testing.T) {
	const chunks = "HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n"
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, answer := answering(t, backend)
		for name, raw := range map[string]string{
			"bare LFs":              "HTTP/1.1 200 OK\nX: y\nContent-Length: 5\n\nhello",
			"some bare LFs":         "HTTP/1.1 200 OK\r\nX: y\nContent-Length: 5\n\r\nhello",
			"HTTP/1.0":              "HTTP/1.0 200 OK\nX: y\nContent-Length: 5\n\nhello",
			"no reason":             "HTTP/1.1 200\r\nX: y\r\nContent-Length: 5\r\n\r\nhello",
			"no reason, a space":    "HTTP/1.1 200 \r\nX: y\r\nContent-Length: 5\r\n\r\nhello",
			"an empty field":        "HTTP/1.1 200 OK\r\nZ:\r\nX: y\r\nContent-Length: 5\r\n\r\nhello",
			"equal lengths":         "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\ncontent-length: 5\r\n\r\nhello",
			"a list of lengths":     "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\nX: y\r\n\r\nhello",
			"a length with zeros":   "HTTP/1.1 200 OK\r\nContent-Length: 0005\r\nX: y\r\n\r\nhello",
			"padded chunks":         chunks + "5   \r\nhello\r\n0  \r\n\r\n",
			"chunks with zeros":     chunks + "0000005\r\nhello\r\n000\r\n\r\n",
			"an empty extension":    chunks + "5;\r\nhello\r\n0 ; \r\n\r\n",
			"a cookie as a trailer": chunks + "5\r\nhello\r\n0\r\nSet-Cookie: a=b\r\nDate: now\r\n\r\n",
			"a trailer with an LF":  chunks + "5\r\nhello\r\n0\r\nSet-Cookie: a=b\n\n",
			"a length of 103":       "HTTP/1.1 103 Hints\r\nContent-Length: 0\r\n\r\n" + hello,
		} {
			c := f.dial()
			in := bufio.NewReader(c)
			for range 2 { // also for the next request on each connection
				answer.Store(raw)
				res, body := get(t, c, in, "")
				require.Equal(t, 200, res.StatusCode, name)
				require.Equal(t, "y", res.Header.Get("X"), name)
				require.Equal(t, "hello", body, name)
				require.Empty(t, res.Trailer, name)
				require.LessOrEqual(t, len(res.Header["Content-Length"]), 1, name)
			}
		}
		require.Zero(t, f.upstream(0).Failures)
	})
}

// An answer that has no body by its status has none, whatever its fields say.
func TestTheLengthOfAnAnswerWithoutABodyMeansNothing(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, answer := answering(t, backend)
		for raw, length := range map[string]string{
			"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n":            "",
			"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n":            "",
			"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n":   "",
			"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n":          "5",
			"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n": "",
			"HTTP/1.0 304 Not Modified\r\n\r\n":                               "",
		} {
			c := f.dial()
			in := bufio.NewReader(c)
			answer.Store(raw)
			res, body := get(t, c, in, "")
			require.Contains(t, raw, res.Status)
			require.Empty(t, body, raw)
			require.Equal(t, length, res.Header.Get("Content-Length"), raw)
			require.Empty(t, res.TransferEncoding, raw)
			answer.Store(hello)
			_, body = get(t, c, in, "")
			require.Equal(t, "hello", body, raw)
		}
		answer.Store("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\nContent-Length: 0\r\n\r\nhi")
		c := f.dial()
		in := bufio.NewReader(c)
		res, _ := get(t, c, in, "Connection: upgrade\r\nUpgrade: echo\r\n")
		require.Equal(t, 101, res.StatusCode)
		require.Empty(t, res.Header.Get("Content-Length"))
		p := make([]byte, 2)
		_, err := io.ReadFull(in, p)
		require.NoError(t, err)
		require.Equal(t, "hi", string(p))
	})
}
