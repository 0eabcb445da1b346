// Package plain is the plaintext handler that every raw framework in this module runs: enough of
// HTTP/1.1 to answer a pipelining client correctly, and nothing that one framework would pay for
// and another not.
//
// It finds the end of each request head, checks the path, and answers with a response whose Date is
// rendered once a second. It reads no headers and no bodies, so it is cheaper than any real HTTP
// server.
package plain

import (
	"bytes"
	"sync/atomic"
	"time"
)

// maxHead is the longest request head that a peer buffers before it gives up on the connection.
const maxHead = 8 << 10

var (
	headEnd  = []byte("\r\n\r\n")
	path     = []byte("GET /plaintext ")
	notFound = []byte("HTTP/1.1 404 Not Found\r\nServer: x\r\nContent-Length: 0\r\n\r\n")

	response atomic.Pointer[[]byte] // the whole 200 answer; replaced, never written to
)

// A Step consumes one message from the front of in. used is 0 while the message is incomplete; ok
// is false if the peer must be disconnected. answer is shared or aliases in: copy it before the
// next read.
type Step func(in []byte) (answer []byte, used int, ok bool)

// StartClock renders the answer's Date now and every second from now on. Call it once, before
// serving.
func StartClock() {
	render(time.Now())
	go func() {
		for now := range time.Tick(time.Second) {
			render(now)
		}
	}()
}

func render(now time.Time) {
	b := []byte("HTTP/1.1 200 OK\r\nServer: x\r\nContent-Type: text/plain\r\nDate: ")
	b = now.UTC().AppendFormat(b, "Mon, 02 Jan 2006 15:04:05 GMT")
	b = append(b, "\r\nContent-Length: 13\r\n\r\nHello, World!"...)
	response.Store(&b)
}

// HTTP answers one request.
func HTTP(in []byte) (answer []byte, used int, ok bool) {
	end := bytes.Index(in, headEnd)
	if end < 0 {
		return nil, 0, len(in) <= maxHead
	}
	used = end + len(headEnd)
	if !bytes.HasPrefix(in, path) {
		return notFound, used, true
	}
	return *response.Load(), used, true
}

// Echo answers with the received bytes.
func Echo(in []byte) (answer []byte, used int, ok bool) {
	return in, len(in), true
}

// All steps through in and appends every answer to out, for a single write.
func All(step Step, out, in []byte) (answers []byte, used int, ok bool) {
	for used < len(in) {
		answer, n, ok := step(in[used:])
		if !ok {
			return out, used, false
		}
		if n == 0 {
			break
		}
		out = append(out, answer...)
		used += n
	}
	return out, used, true
}

// Carry keeps an incomplete message between reads, for frameworks that hand over each read just
// once. Its zero value is ready.
type Carry struct{ rest []byte }

// All is the package's All over the rest of earlier reads and in.
func (c *Carry) All(step Step, out, in []byte) (answers []byte, ok bool) {
	whole := in
	if len(c.rest) > 0 {
		c.rest = append(c.rest, in...)
		whole = c.rest
	}
	out, used, ok := All(step, out, whole)
	c.rest = append(c.rest[:0], whole[used:]...)
	return out, ok
}
