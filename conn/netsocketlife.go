package conn

import (
	"context"
	"net"

	"github.com/suiro-go/suiro/internal/bubble"
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
	opened := s.conn() != nil
	if s.duplex.Ended(err) && s.opened != nil && !opened {
		close(s.opened)
	}
}

// watchSockets ends the group's sockets when its runtime ends without them: when a driver fails, or
// with Group.Close. It costs one goroutine for the group.
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
