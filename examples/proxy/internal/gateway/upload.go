package gateway

import (
	"errors"
	"os"
	"time"

	"github.com/suiro-go/suiro/examples/http/h1"
)

// unwanted is how much is read of what nobody wants, in bytes: of a body after its answer,
// and of what a client still sends when its connection is about to be closed. It is what
// net/http's server reads: enough for most clients to see the answer and not a reset.
const unwanted = 256 << 10

// grace is how long the rest of a body may take after its answer.
const grace = 50 * time.Millisecond

// errUnsent is that a body was not passed on whole because the upstream does not take it,
// or has answered already.
var errUnsent = errors.New("the upstream does not want the body")

// sendBody passes the request's body on, and is its goroutine's: until it returns, bytes from
// the client are its own. Fields after the body go with it, but those that the head's Connection
// has listed as names. With the end of the body the time for an answer begins. A body that
// cannot be had whole ends the upstream's connection, by a reset.
func (x *exchange) sendBody(l *lease) error {
	k, up := x.client, l.conn
	inChunks := k.req.Chunked
	idle, reply := k.route.Idle(), k.route.Reply()
	buf := getBuffer()
	defer func() { putBuffer(buf) }()
	out, small := buf.room[:0], chunker{}
	pace := k.pace()
	left := unwanted
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
		if n > 0 {
			x.came(l, time.Time{})
		}
		if x.over.Load() {
			if left -= n; left <= 0 && !done {
				return errUnsent
			}
		}
		switch out = p[:0]; {
		case !inChunks:
		case done:
			p = appendTrailer(small.flush(p), k.parser.Trailer(), k.filter(), x.names)
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
				return errUnsent
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
		from, had := time.Now(), len(k.buf.bytes())
		x.await(&pace, from)
		if x.enough.Load() { // endBody notes it before it sets the deadline that this one has replaced
			return errUnsent
		}
		if err := k.buf.fill(k.conn); err != nil {
			if x.enough.Load() {
				return errUnsent
			}
			l.abort()
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return &h1.Error{Status: 408, Reason: "the body has not come in time"}
			}
			return err
		}
		pace.spent(x.came(l, from), len(k.buf.bytes())-had)
	}
}

// long ago is when the remaining waiters give up.
var long = time.Unix(1, 0)

// endBody waits for the end of sendBody, now that the answer has ended. The last of a body
// may cross its answer, and then both connections can be kept. A body that takes longer, or is
// longer, is of no use any more: the upstream's connection is reset, and nothing is read.
func (x *exchange) endBody(up *lease, sent chan error) error {
	x.over.Store(true)
	select {
	case err := <-sent:
		return err
	default:
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case err := <-sent:
		return err
	case <-late.C:
	}
	x.enough.Store(true)
	_ = x.client.conn.SetReadDeadline(long)
	up.abort()
	return <-sent
}
