package gateway

import (
	"fmt"
	"io"
	"net"
	"time"

	"github.com/suiro-go/suiro/examples/http/h1"
)

// sendBody passes the request's body on, and is its goroutine's: until it returns, what comes from
// the client is its own. Fields after the body go with it, but those that the head's Connection has listed as names.
// With the end of the body the time for an answer begins. A body that cannot be had whole
// ends the upstream's connection, by a reset.
func (x *exchange) sendBody(l *lent) error {
	k, up := x.client, l.conn
	inChunks := k.req.Chunked
	idle, reply := k.route.Idle(), k.route.Reply()
	out := getBuffer()
	defer func() { putBuffer(out) }()
	for {
		n, chunk, done, err := k.parser.ParseBody(k.buf.bytes())
		if err != nil {
			l.abort()
			return err
		}
		k.route.In.Add(uint64(len(chunk)))
		p := chunk
		if inChunks {
			p = h1.AppendChunk(out.room[:0], chunk)
			if done {
				p = appendTrailer(p, k.parser.Trailer(), own, x.names)
			}
		}
		if len(p) > 0 {
			_ = up.SetWriteDeadline(time.Now().Add(idle))
			if _, err := up.Write(p); err != nil {
				_ = up.SetReadDeadline(time.Now().Add(reply)) // it may have said why
				return err
			}
		}
		k.buf.discard(n)
		if done {
			_ = up.SetReadDeadline(time.Now().Add(reply))
			if x.begun.Load() { // else passBody, which notes it first, sets the deadline after this
				_ = up.SetReadDeadline(time.Now().Add(idle))
			}
			return nil
		}
		if n > 0 {
			continue
		}
		_ = k.conn.SetReadDeadline(time.Now().Add(idle))
		if err := k.buf.fill(k.conn); err != nil {
			l.abort()
			return err
		}
	}
}

// long ago is when whoever still waits is to give up.
var long = time.Unix(1, 0)

// passBody passes the answer on: its head, which is out, and its body, as both come. An error means
// that the client has only a part, as it sees when the connection is reset.
func (x *exchange) passBody(up net.Conn, parser *h1.ReplyParser, buf *buffer, out []byte, names []string, f framing, until bool) error {
	k := x.client
	idle := k.route.Idle()
	x.begun.Store(true)
	for {
		var n int
		var chunk []byte
		var done bool
		var err error
		if until {
			chunk = buf.bytes()
			n = len(chunk)
		} else if n, chunk, done, err = parser.ParseBody(buf.bytes()); err != nil {
			k.route.Broken.Add(1)
			return fmt.Errorf("the upstream's answer: %v", err) // no verdict: an answer has begun
		}
		x.wrote += int64(len(chunk))
		if f == chunked {
			out = h1.AppendChunk(out, chunk)
		} else {
			out = append(out, chunk...)
		}
		buf.discard(n)
		if n == 0 && !done { // what has come is on its way before more is waited for
			if err := k.write(out, idle); err != nil {
				return err
			}
			out = out[:0]
			_ = up.SetReadDeadline(time.Now().Add(idle))
			switch err := buf.fill(up); {
			case err == io.EOF && until:
				done = true
			case err != nil:
				k.route.Broken.Add(1)
				return err
			}
		}
		if done && f == chunked {
			out = appendTrailer(out, parser.Trailer(), nil, names)
		}
		if done || len(out) >= bufferSize/2 {
			if err := k.write(out, idle); err != nil {
				return err
			}
			out = out[:0]
		}
		if done {
			return nil
		}
	}
}

// write passes bytes on to the client, which is to take them within idle.
func (k *client) write(p []byte, idle time.Duration) error {
	if len(p) == 0 {
		return nil
	}
	_ = k.conn.SetWriteDeadline(time.Now().Add(idle))
	_, err := k.conn.Write(p)
	return err
}
