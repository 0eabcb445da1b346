package gateway

import (
	"cmp"
	"errors"
	"io"
	"net"
	"time"

	"github.com/suiro-go/suiro/conn"
)

// tunnel follows a 101: it passes bytes each way until both have ended, first those that have been
// received already.
func (x *exchange) tunnel(up *lease, head []byte, buf *buffer) error {
	k := x.client
	_ = k.handle.Do(func(c *conn.Conn) { _ = c.SetIdleTimeout(k.route.Idle()) })
	_ = up.conn.SetDeadline(time.Time{})
	_ = k.conn.SetDeadline(time.Time{})
	if _, err := k.conn.Write(append(head, buf.bytes()...)); err != nil {
		return err
	}
	if p := k.buf.bytes(); len(p) > 0 {
		if _, err := up.conn.Write(p); err != nil {
			return err
		}
		k.buf.discard(len(p))
	}
	client, origin := end{k.conn, k.handle}, end{up.conn, up.handle}
	done := make(chan error, 1)
	go func() { done <- client.pass(origin, func(n int64) { k.route.In.Add(uint64(n)) }) }()
	err := origin.pass(client, func(n int64) { x.wrote += n })
	if err = cmp.Or(err, <-done); err != nil {
		client.cut(origin, err)
	}
	return nil
}

// An end is a connection of a goroutine, perhaps within TLS.
type end struct {
	net.Conn
	handle conn.Handle
}

// pass copies until e ends. If e fails, both are cut. If to fails, the other way passes on what to
// has sent, and then fails.
func (e end) pass(to end, count func(int64)) error {
	out := &noting{Writer: to}
	n, err := io.Copy(out, struct{ io.Reader }{e})
	count(n)
	if c, ok := to.Conn.(interface{ CloseWrite() error }); ok && err == nil {
		return c.CloseWrite()
	}
	if err != nil && !out.failed {
		e.cut(to, err)
	}
	return err
}

// A noting is a writer that notes whether a write has failed.
type noting struct {
	io.Writer
	failed bool
}

func (n *noting) Write(p []byte) (int, error) {
	done, err := n.Writer.Write(p)
	n.failed = err != nil
	return done, err
}

// cut ends both connections. A stream that was cut off on one side must not look whole on the
// other, so it ends by a reset there, after all that had arrived. TLS without its last alert is the
// exception, since many peers omit that although they have finished.
func (e end) cut(to end, err error) {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		_ = e.Close()
		_ = to.Close()
		return
	}
	e.closeByReset(err)
	to.closeByReset(err)
}

// closeByReset resets the connection when its peer has all that was written. Nothing more is read.
func (e end) closeByReset(err error) {
	if e.handle.Do(func(c *conn.Conn) { c.CloseByReset(err) }) != nil { // it is over, or too many calls wait
		_ = e.Close()
	}
	_ = e.SetReadDeadline(long)
}
