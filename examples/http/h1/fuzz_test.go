package h1_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"regexp"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/examples/http/h1"
)

// tight limits come into play within the few bytes of a fuzzer's input.
var tight = &h1.Limits{Line: 24, Header: 64, Fields: 4, Body: 40, Extension: 12, Trailer: 32}

// FuzzParse holds the parser to its promises on any input: no panic, nothing consumed or handed out
// beyond the input, and the same requests and verdict however the input is split.
func FuzzParse(f *testing.F) {
	for _, raw := range seeds(f) {
		f.Add(raw, false, uint64(1))
	}
	f.Add([]byte("POST /0123456789abcdef HTTP/1.1\r\nHost: a\r\nContent-Length: 41\r\n\r\n"), true, uint64(2))
	f.Add([]byte(chunkedPost+"5;a=\"b c d e f\"\r\nhello\r\n0\r\nX: 0123456789\r\nY: 0123456789\r\n\r\n"), true, uint64(3))
	f.Fuzz(func(t *testing.T, raw []byte, small bool, seed uint64) {
		if len(raw) > 4<<10 {
			t.Skip("the recorder copies what is left for every piece")
		}
		var limits *h1.Limits
		if small {
			limits = tight
		}
		whole := record(t, raw, limits, inOne)
		require.Equal(t, whole, record(t, raw, limits, byByte), "byte by byte")
		require.Equal(t, whole, record(t, raw, limits, randomly(seed)), "random pieces")
		var req h1.Request
		for _, how := range []split{inOne, randomly(seed), inOne, byByte} { // req has seen such heads before
			require.Equal(t, whole, recordIn(t, &req, raw, limits, how), "again")
			i := int(seed % uint64(len(raw)+1)) // and one that differs in a byte, or not
			odd := bytes.Clone(raw)
			if i < len(odd) {
				odd[i] ^= byte(1 << (seed >> 32 % 8))
			}
			require.Equal(t, record(t, odd, limits, inOne), recordIn(t, &req, odd, limits, inOne), "one that is nearly the same")
		}
	})
}

// FuzzNetHTTP compares with net/http: it must accept what the parser accepts, and see the same
// message. The other way round does not hold, since the parser is stricter.
func FuzzNetHTTP(f *testing.F) {
	for _, raw := range seeds(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, m := range record(t, raw, nil, inOne).Messages {
			if m.Complete {
				compareNetHTTP(t, m)
			}
		}
	})
}

func seeds(t testing.TB) (raws [][]byte) {
	for _, file := range []string{"testdata/cases.json", "testdata/more.json"} {
		for _, c := range loadCases(t, file) {
			if raw := c.bytes(); len(raw) < 1<<10 {
				raws = append(raws, raw)
			}
		}
	}
	return append(raws, []byte(browser), bytes.Repeat([]byte(plain), 3))
}

// message is one request as parsed, copied.
type message struct {
	Method, Target, Path, Query, Host string
	HasQuery                          bool
	Fields                            [][2]string
	Length                            int64
	Minor                             int
	Chunked, KeepAlive, Continue      bool
	Body                              string
	Complete                          bool
	wire                              []byte // without empty lines before it
}

// recording is all that a parser said about an input.
type recording struct {
	Messages []message
	Verdict  string // of a failed parser
	Left     int    // bytes not consumed; -1 after a failure
}

func record(t testing.TB, raw []byte, limits *h1.Limits, next split) recording {
	return recordIn(t, new(h1.Request), raw, limits, next)
}

func recordIn(t testing.TB, req *h1.Request, raw []byte, limits *h1.Limits, next split) recording {
	p := h1.Parser{Limits: limits}
	var rec recording
	from, to := 0, 0 // of raw: the bytes that have arrived and are not consumed
	start, open := 0, false
	for to < len(raw) {
		to += next(len(raw) - to)
		for {
			buf := bytes.Clone(raw[from:to])
			if !open {
				n, err := p.ParseHead(buf, req)
				if err != nil {
					rec.Verdict, rec.Left = err.Error(), -1
					return rec
				}
				if n == 0 {
					break
				}
				require.LessOrEqual(t, n, len(buf))
				rec.Messages = append(rec.Messages, copyRequest(t, buf[:n], req))
				start, open = from, true
				from += n
				buf = buf[n:]
			}
			n, chunk, done, err := p.ParseBody(buf)
			if err != nil {
				rec.Verdict, rec.Left = err.Error(), -1
				return rec
			}
			require.LessOrEqual(t, n, len(buf))
			requireInside(t, buf[:n], chunk)
			from += n
			m := &rec.Messages[len(rec.Messages)-1]
			m.Body += string(chunk)
			require.Equal(t, !done, p.InBody())
			if done {
				m.Complete, open = true, false
				m.wire = bytes.TrimLeft(raw[start:from], "\r\n")
			} else if n == 0 {
				break
			}
		}
	}
	rec.Left = to - from
	return rec
}

func copyRequest(t testing.TB, head []byte, req *h1.Request) message {
	for _, s := range [][]byte{req.Method, req.Target, req.Path, req.Query, req.Host} {
		requireInside(t, head, s)
	}
	m := message{
		Method: string(req.Method), Target: string(req.Target), Path: string(req.Path),
		Query: string(req.Query), HasQuery: req.Query != nil, Host: string(req.Host),
		Length: req.ContentLength, Minor: req.Minor,
		Chunked: req.Chunked, KeepAlive: req.KeepAlive, Continue: req.ExpectContinue,
	}
	for name, value := range req.Headers() {
		requireInside(t, head, name)
		requireInside(t, head, value)
		m.Fields = append(m.Fields, [2]string{string(name), string(value)})
		require.NotNil(t, req.Header(string(name)))
	}
	require.Len(t, m.Fields, req.NumHeaders())
	return m
}

func requireInside(t testing.TB, whole, part []byte) {
	if len(part) == 0 {
		return
	}
	from := uintptr(unsafe.Pointer(unsafe.SliceData(whole)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(part)))
	require.True(t, from <= at && at+uintptr(len(part)) <= from+uintptr(len(whole)), "slice outside the input")
	require.LessOrEqual(t, at+uintptr(cap(part)), from+uintptr(len(whole)), "room beyond the input")
}

// spaceAfterSize is white space before a chunk extension. By RFC 9110 section 5.6.3
// recipients accept it; net/http does not.
var spaceAfterSize = regexp.MustCompile(`(^|\n)[0-9A-Fa-f]+[ \t]+;`)

// compareNetHTTP reads the message again, with net/http, followed by a second one that must not be
// touched.
func compareNetHTTP(t testing.TB, m message) {
	const next = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n"
	in := bufio.NewReader(io.MultiReader(bytes.NewReader(m.wire), bytes.NewReader([]byte(next))))
	req, err := http.ReadRequest(in)
	require.NoError(t, err, "%q", m.wire)
	body, err := io.ReadAll(req.Body)
	if err != nil && spaceAfterSize.Match(m.wire) {
		return
	}
	require.NoError(t, err, "%q", m.wire)
	assert.Equal(t, m.Method, req.Method)
	assert.Equal(t, m.Target, req.RequestURI)
	assert.Equal(t, m.Body, string(body), "%q", m.wire)
	assert.Equal(t, m.KeepAlive, !req.Close, "%q", m.wire)
	assert.Equal(t, m.Chunked, len(req.TransferEncoding) == 1)
	assert.Equal(t, m.Host, req.Host)
	rest, err := io.ReadAll(in)
	require.NoError(t, err)
	assert.Equal(t, next, string(rest), "both end the message at the same byte: %q", m.wire)
}
