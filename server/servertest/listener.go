package servertest

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// A Listener is a net.Listener whose connections come from its Dial methods.
type Listener struct {
	buffer int
	addr   Addr
	dialed atomic.Int64

	arrived chan *Conn // the backlog
	closed  chan struct{}
	once    sync.Once
}

var (
	_         net.Listener = (*Listener)(nil)
	listeners atomic.Int64
)

const backlog = 128

// Listen returns a listener whose connections buffer up to this number of bytes in each direction.
// 0: 64 KiB.
func Listen(buffer int) *Listener {
	return &Listener{
		buffer: buffer, addr: Addr(fmt.Sprintf("listener-%d", listeners.Add(1))),
		arrived: make(chan *Conn, backlog), closed: make(chan struct{}),
	}
}

// Dial connects to the listener. As with a socket, the connection can be used before Accept has
// returned the other end. If 128 connections wait for Accept, Dial waits too.
func (l *Listener) Dial() (*Conn, error) { return l.dial(context.Background()) }

// DialContext is Dial with the signature that net/http, gRPC and others expect. It ignores the
// address.
func (l *Listener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	c, err := l.dial(ctx)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (l *Listener) dial(ctx context.Context) (*Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, l.opError("dial", err)
	}
	from := Addr(fmt.Sprintf("%s-client-%d", l.addr, l.dialed.Add(1)))
	client, server := pipe(l.buffer, from, l.addr)
	refused := l.opError("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED))
	select {
	case <-l.closed:
		return nil, refused
	default:
	}
	select {
	case l.arrived <- server:
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, l.opError("dial", ctx.Err())
	}
	select {
	case <-l.closed:
		l.drain() // Close may have drained already
	default:
	}
	return client, nil
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, l.opError("accept", net.ErrClosed)
	default:
	}
	select {
	case c := <-l.arrived:
		return c, nil
	case <-l.closed:
		return nil, l.opError("accept", net.ErrClosed)
	}
}

// Close implements net.Listener. Accepted connections stay open, the others are closed.
func (l *Listener) Close() error {
	again := true
	l.once.Do(func() { again = false; close(l.closed) })
	if again {
		return l.opError("close", net.ErrClosed)
	}
	l.drain()
	return nil
}

func (l *Listener) drain() {
	for {
		select {
		case c := <-l.arrived:
			_ = c.Close()
		default:
			return
		}
	}
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.addr }

func (l *Listener) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: l.addr.Network(), Addr: l.addr, Err: err}
}
