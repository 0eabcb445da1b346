package core

import (
	"net"

	"github.com/suiro-go/suiro/internal/sock"
)

// WithFD calls f with the descriptor, while that is open.
func (c *Conn) WithFD(f func(fd int) error) error {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	// it is about to be closed, by the task, which takes no notice of the lock
	if c.Inbox.Closed() {
		return net.ErrClosed
	}
	return f(c.Endpoint.FD)
}

// LendFD calls f with a duplicate of the descriptor.
func LendFD(c *Conn, f func(fd uintptr) bool) error {
	fd := -1
	err := c.WithFD(func(orig int) (err error) {
		if fd, err = sock.Duplicate(orig); err != nil {
			return err
		}
		c.Inbox.Need(nil).duplicates++
		return nil
	})
	if err != nil {
		return err
	}
	defer func() { // the duplicate is closed
		c.Mu.Lock()
		c.Inbox.Rest().duplicates--
		c.Mu.Unlock()
	}()
	return sock.UseAndClose(fd, f)
}

// duplicated reports whether a function of a RawConn has a duplicate of the descriptor. Then close
// alone would not end the connection.
func duplicated(c *Conn) bool {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	o := c.Inbox.Rest()
	return o != nil && o.duplicates > 0
}

// WriteRaw calls f with the descriptor unless something is to be sent before, as Outlet.Write
// sends. In that case MadeRoom of the Socket is called when another try is worthwhile.
func (o *Outlet) WriteRaw(f func(fd uintptr) bool, s Sender) (called bool, err error) {
	c := (*Conn)(o)
	c.Mu.Lock()
	in := &c.Inbox
	switch {
	case !c.Filter().sendsUnchanged(s.Socket):
		err = ErrOverSocket
	case !in.TakesWrites():
		err = ErrGone
	case !in.Right.Try():
		wake := in.Right.Queue(in.awaitRoom(s.Duplex))
		c.Mu.Unlock()
		if wake {
			c.Task.Wake()
		}
		return false, nil
	}
	c.Mu.Unlock()
	if err != nil {
		return false, err
	}
	defer o.done(0) // also if f panics
	if !f(uintptr(c.Endpoint.FD)) {
		return true, sock.ErrWouldWait
	}
	return true, nil
}
