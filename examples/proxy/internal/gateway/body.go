package gateway

import (
	"fmt"
	"io"
	"net"
	"time"

	"github.com/suiro-go/suiro/examples/http/h1"
)

// passBody passes the answer on: its head, which is out, and its body, as both come. An error means
// that the client has only a part, as it sees when the connection is reset.
func (x *exchange) passBody(up net.Conn, parser *h1.ReplyParser, buf *buffer, out []byte, names []string, f framing, until bool) error {
	k := x.client
	idle, pace, small := k.route.Idle(), k.pace(), chunker{}
	x.begin()
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
			return fmt.Errorf("the upstream's answer: %v", err) //nolint:errorlint // a wrapped verdict would be answered, and an answer has begun
		}
		x.wrote += int64(len(chunk))
		if f == chunked {
			out = small.add(out, chunk)
		} else {
			out = append(out, chunk...)
		}
		buf.discard(n)
		if n == 0 && !done { // send all received bytes before a wait
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
