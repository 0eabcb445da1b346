package conn

import (
	"context"
	"net"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/ctxcheck"
	"github.com/suiro-go/suiro/internal/sock"
)

// DialSocketContext connects to a *net.TCPAddr or *net.UnixAddr. If ctx ends before the connection
// is established, the attempt is given up. Later ctx means nothing. On a worker the error matches
// sched.ErrBlocksWorker.
//
// Errors are *net.OpError with Op "dial". They match the error of ctx if that has ended, with its
// deadline os.ErrDeadlineExceeded as well, and net.ErrClosed if the group ends.
func (g *Group) DialSocketContext(ctx context.Context, addr net.Addr) (*Socket, error) {
	failed := func(err error) error {
		return &net.OpError{Op: "dial", Net: addr.Network(), Addr: addr, Err: err}
	}
	if err := endOf(ctx); err != nil {
		return nil, failed(err)
	}
	if err := ctxcheck.Blocks(ctx); err != nil {
		return nil, failed(err)
	}
	ctx, release := bubble.Context(ctx)
	defer release()
	s := NewSocket()
	h, err := g.Dial(addr, s.Handler())
	if err != nil {
		return nil, err
	}
	if err := s.WaitOpen(ctx); err != nil {
		_ = h.Abort() // if it has not ended
		_ = s.Close() // it may have received already
		if ctx.Err() != nil {
			return nil, failed(sock.ContextError(ctx.Err()))
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

// Release implements sched.Releaser, for a Socket that is a result that nobody takes. It resets the
// connection, as Close after SetLinger(0) does. Of a handler's Stream it does nothing. Any
// goroutine may call it; it does not block.
func (s *Socket) Release() {
	if s != nil && s.stream == nil {
		_ = closeShared(s, true) // it may be closed
	}
}
