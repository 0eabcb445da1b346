package gateway

import (
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
	done := make(chan error, 2)
	pass := func(to, from net.Conn, count func(int64)) {
		n, err := io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{from})
		count(n)
		if c, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
			err = c.CloseWrite()
		}
		if err != nil { // neither has anything more to say
			x.cut(up, err)
		}
		done <- err
	}
	go pass(up.conn, k.conn, func(n int64) { k.route.In.Add(uint64(n)) })
	pass(k.conn, up.conn, func(n int64) { x.wrote += n })
	<-done
	<-done
	return nil
}

// cut ends both connections. A stream that was cut off on one side must not look whole on the
// other, so it ends by a reset there. TLS without its last alert is the exception, since many peers
// omit that although they have finished.
func (x *exchange) cut(up *lease, err error) {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		_ = up.conn.Close()
		_ = x.client.conn.Close()
		return
	}
	up.abort()
	x.client.abort()
}
