package gateway

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
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
	buf := getBuffer()
	defer func() { putBuffer(buf) }()
	out, small := buf.room[:0], chunker{}
	pace := k.pace()
	for {
		n, chunk, done, err := k.parser.ParseBody(k.buf.bytes())
		if err != nil {
			l.abort()
			return err
		}
		k.route.In.Add(uint64(len(chunk)))
		p := chunk
		if inChunks {
			p = small.add(out, chunk)
		}
		k.buf.discard(n) // the chunk stays where it is until the next fill
		switch out = p[:0]; {
		case !inChunks:
		case done:
			p = appendTrailer(small.flush(p), k.parser.Trailer(), own, x.names)
		case n > 0 && len(p)+len(small.small) < bufferSize/2:
			out = p
			continue // more may have come
		default:
			p = small.flush(p)
		}
		if len(p) > 0 {
			_ = up.SetWriteDeadline(time.Now().Add(idle))
			if _, err := up.Write(p); err != nil {
				_ = up.SetReadDeadline(time.Now().Add(reply)) // it may have said why
				return err
			}
		}
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
		from, had, limit := time.Now(), len(k.buf.bytes()), idle
		if waits := x.expects && pace.moved == 0; !waits {
			limit = pace.limit(0, idle)
		}
		_ = k.conn.SetReadDeadline(from.Add(limit))
		if err := k.buf.fill(k.conn); err != nil {
			l.abort()
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return &h1.Error{Status: 408, Reason: "the body has not come in time"}
			}
			return err
		}
		if x.expects && pace.moved == 0 {
			from = time.Now() // until the upstream has said that it wants a body, the client waits too
		}
		pace.spent(from, len(k.buf.bytes())-had)
	}
}

// long ago is when whoever still waits is to give up.
var long = time.Unix(1, 0)

// passBody passes the answer on: its head, which is out, and its body, as both come. An error means
// that the client has only a part, as it sees when the connection is reset.
func (x *exchange) passBody(up net.Conn, parser *h1.ReplyParser, buf *buffer, out []byte, names []string, f framing, until bool) error {
	k := x.client
	idle, pace, small := k.route.Idle(), k.pace(), chunker{}
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
			out = small.add(out, chunk)
		} else {
			out = append(out, chunk...)
		}
		buf.discard(n)
		if n == 0 && !done { // what has come is on its way before more is waited for
			out = small.flush(out)
			if err := k.write(out, &pace); err != nil {
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
			out = appendTrailer(small.flush(out), parser.Trailer(), nil, names)
		}
		if done || len(out)+len(small.small) >= bufferSize/2 {
			out = small.flush(out)
			if err := k.write(out, &pace); err != nil {
				return err
			}
			out = out[:0]
		}
		if done {
			return nil
		}
	}
}

// write passes bytes on to the client, which is to take them at the pace.
func (k *client) write(p []byte, pace *pace) error {
	if len(p) == 0 {
		return nil
	}
	from := time.Now()
	_ = k.conn.SetWriteDeadline(from.Add(pace.limit(len(p), k.route.Idle())))
	_, err := k.conn.Write(p)
	pace.spent(from, len(p))
	return err
}

// pace is how fast the client must send a body, or take one.
func (k *client) pace() pace { return pace{rate: int64(k.route.Rate()), grace: k.route.Header()} }
