package conn

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/waiter"
)

// DialSocket connects to a *net.TCPAddr or *net.UnixAddr. If ctx ends before the
// connection is established, the attempt is given up; later ctx means nothing.
func (g *Group) DialSocket(ctx context.Context, addr net.Addr) (*Socket, error) {
	failed := func(err error) (*Socket, error) {
		return nil, &net.OpError{Op: "dial", Net: addr.Network(), Addr: addr, Err: err}
	}
	if err := ctx.Err(); err != nil {
		return failed(err)
	}
	ctx, release := bubble.Context(ctx)
	defer release()
	s := NewSocket()
	h, err := g.Dial(addr, s.Handler())
	if err != nil {
		return nil, err
	}
	g.watchSockets()
	if err := s.WaitOpen(ctx); err != nil {
		_ = h.Abort() // if it has not ended
		_ = s.Close() // it may have received already
		if ctx.Err() != nil {
			return failed(ctx.Err())
		}
		return nil, err
	}
	return s, nil
}

// end ends all that waits. err is nil if the connection ended in order.
func (s *Socket) end(err error) {
	var u waiter.Wakeup
	s.mu.Lock()
	if s.gone {
		s.mu.Unlock()
		return
	}
	unopened := s.opened != nil && s.c == nil
	s.gone, s.failed = true, err
	s.serve(&u)
	s.stopWriters(&u, s.unwritable())
	if s.closedByUs() {
		s.readBy.Stop() // a timer of it would keep the Socket
		s.writeBy.Stop()
	}
	notify := s.takeEnded()
	s.mu.Unlock()
	u.Wake()
	notify()
	if unopened {
		close(s.opened)
	}
}

// closedByUs reports that the connection has ended, and neither by the peer nor by an error: the
// group or a Handle has closed it, or a lender. The lock is held.
func (s *Socket) closedByUs() bool { return s.gone && errors.Is(s.exhausted(), net.ErrClosed) }

// Close implements net.Conn: what was written is sent in the background, unless
// SetLinger says otherwise; reads and writes end, at once, with net.ErrClosed.
func (s *Socket) Close() error {
	var u waiter.Wakeup
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return s.opError("close", net.ErrClosed)
	}
	s.closed, s.ended = true, nil
	s.in.Clear()
	freed := s.account()
	u.AddAll(&s.readers, net.ErrClosed)
	s.stopWriters(&u, net.ErrClosed)
	s.readBy.Stop()
	s.writeBy.Stop()
	c, kind := s.c, cmdClose
	if s.reset {
		kind = cmdAbort
	}
	s.mu.Unlock()
	u.Wake()
	if freed {
		c.group.passOn()
	}
	if c != nil {
		_ = c.tell(command{kind: kind}) // it may be over
	}
	return nil
}

// CloseWrite says that nothing more will be written, once what was written is sent, as
// that of *net.TCPConn does.
func (s *Socket) CloseWrite() error {
	var u waiter.Wakeup
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return s.opError("close", net.ErrClosed)
	}
	c, again := s.c, s.mute
	s.mute = true
	s.stopWriters(&u, s.unwritable())
	s.mu.Unlock()
	u.Wake()
	if c != nil && !again {
		_ = c.tell(command{kind: cmdDo, do: func(c *Conn) { _ = c.CloseWrite() }})
	}
	return nil
}

// CloseRead says that nothing more will be read, as that of *net.TCPConn does: reads
// return io.EOF.
func (s *Socket) CloseRead() error {
	var u waiter.Wakeup
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return s.opError("close", net.ErrClosed)
	}
	c, again := s.c, s.deaf
	s.deaf = true
	s.in.Clear()
	freed := s.account()
	err, _ := s.unreadable()
	u.AddAll(&s.readers, err)
	s.mu.Unlock()
	u.Wake()
	if freed {
		c.group.passOn()
	}
	if c != nil && !again {
		_ = c.tell(command{kind: cmdDo, do: func(c *Conn) { _ = c.CloseRead() }})
	}
	return nil
}

// watchSockets has the group's sockets end when its runtime does without them: when a
// driver fails, or with Group.Close. It costs one goroutine for the group.
func (g *Group) watchSockets() {
	g.sockets.Do(func() {
		bubble.Go(func() {
			<-g.rt.Done()
			for e := range g.core.Table.All() {
				c := connOf(e)
				if c == nil {
					continue
				}
				if s, ok := socketOf(c.handler); ok { // the task that might change it runs no more
					s.end(errGone)
				}
			}
		})
	})
}

func (s *Socket) readError(err error) error { return s.wrap("read", err) }

func (s *Socket) writeError(err error) error { return s.wrap("write", err) }

// wrap gives what ended a connection the shape it has in package net: whichever end
// noticed it, it is an error of the call that is told.
func (s *Socket) wrap(op string, err error) error {
	var errno syscall.Errno
	var sys *os.SyscallError
	var oe *net.OpError
	switch {
	case err == io.EOF:
		return err
	case errors.Is(err, net.ErrClosed):
		err = net.ErrClosed
	case errors.As(err, &sys) && errors.As(sys, &errno):
		err = os.NewSyscallError(op, sys.Err)
	case errors.As(err, &oe):
		err = oe.Err
	}
	return s.opError(op, err)
}

func (s *Socket) opError(op string, err error) error {
	e := &net.OpError{Op: op, Net: "tcp", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: err}
	if e.Source != nil {
		e.Net = e.Source.Network()
	}
	return e
}
