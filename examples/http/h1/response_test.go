package h1_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/examples/http/h1"
)

func TestAppendHead(t *testing.T) {
	var dates h1.DateCache
	date := dates.At(784111777)
	for name, c := range map[string]struct {
		head h1.Head
		want []string
	}{
		"plain": {
			h1.Head{Status: 200, ContentType: "text/plain", ContentLength: 13, Minor: 1, Date: date},
			[]string{"HTTP/1.1 200 OK", "Date: Sun, 06 Nov 1994 08:49:37 GMT", "Content-Type: text/plain", "Content-Length: 13"}},
		"close":              {h1.Head{Status: 404, Minor: 1, Close: true}, []string{"HTTP/1.1 404 Not Found", "Content-Length: 0", "Connection: close"}},
		"HTTP/1.0 lives":     {h1.Head{Status: 200}, []string{"HTTP/1.1 200 OK", "Content-Length: 0", "Connection: keep-alive"}},
		"HTTP/1.0 closes":    {h1.Head{Status: 200, Close: true}, []string{"HTTP/1.1 200 OK", "Content-Length: 0", "Connection: close"}},
		"chunked":            {h1.Head{Status: 200, ContentLength: -1, Minor: 1}, []string{"HTTP/1.1 200 OK", "Transfer-Encoding: chunked"}},
		"HTTP/1.0 unbounded": {h1.Head{Status: 200, ContentLength: -1}, []string{"HTTP/1.1 200 OK", "Connection: close"}},
		"no content":         {h1.Head{Status: 204, ContentLength: -1, Minor: 1}, []string{"HTTP/1.1 204 No Content"}},
		"not modified":       {h1.Head{Status: 304, ContentLength: -1, Minor: 1}, []string{"HTTP/1.1 304 Not Modified"}},
		"unknown status":     {h1.Head{Status: 299, Minor: 1}, []string{"HTTP/1.1 299 ", "Content-Length: 0"}},
		"more fields": {
			h1.Head{Status: 200, Minor: 1, Fields: h1.AppendField(nil, "Server", "suiro")},
			[]string{"HTTP/1.1 200 OK", "Content-Length: 0", "Server: suiro"}},
	} {
		assert.Equal(t, "kept"+strings.Join(c.want, "\r\n")+"\r\n\r\n", string(h1.AppendHead([]byte("kept"), c.head)), name)
	}
}

func TestAppendErrorIsAWholeResponse(t *testing.T) {
	var dates h1.DateCache
	raw := h1.AppendError(nil, &h1.Error{Status: 431, Reason: "too much"}, dates.At(784111777))
	in := bufio.NewReader(bytes.NewReader(raw))
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "431 Request Header Fields Too Large", resp.Status)
	assert.Equal(t, "too much\n", string(body))
	assert.Equal(t, "Sun, 06 Nov 1994 08:49:37 GMT", resp.Header.Get("Date"))
	assert.True(t, resp.Close)
	assert.Zero(t, in.Buffered())
}

func TestFieldCannotSplitTheResponse(t *testing.T) {
	got := string(h1.AppendField(nil, "Location", "/a\r\nSet-Cookie: b\x00\n"))
	assert.Equal(t, "Location: /a  Set-Cookie: b  \r\n", got)
}

func TestChunksReadBack(t *testing.T) {
	raw := h1.AppendHead(nil, h1.Head{Status: 200, ContentLength: -1, Minor: 1})
	raw = h1.AppendChunk(raw, []byte("hello, "))
	raw = h1.AppendChunk(raw, nil) // does not end the body
	raw = h1.AppendChunk(raw, []byte("water flows on and on"))
	raw = append(raw, h1.LastChunk...)
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "hello, water flows on and on", string(body))
}

func TestReasonPhrases(t *testing.T) {
	for status := -1; status < 1000; status++ {
		want := http.StatusText(status)
		switch status { // RFC 9110 has newer phrases for these
		case 413:
			want = "Content Too Large"
		case 414:
			want = "URI Too Long"
		case 416:
			want = "Range Not Satisfiable"
		case 422:
			want = "Unprocessable Content"
		case 510: // obsolete
			want = ""
		}
		assert.Equal(t, want, h1.ReasonPhrase(status), "%d", status)
	}
}

func TestDateCache(t *testing.T) {
	var dates h1.DateCache
	for _, second := range []int64{0, 0, 1, 1 << 31, 784111777, -1, 253402300799} {
		want := time.Unix(second, 0).UTC().Format(http.TimeFormat)
		assert.Equal(t, want, string(dates.At(second)))
		assert.Equal(t, want, string(dates.At(second)))
	}
}
