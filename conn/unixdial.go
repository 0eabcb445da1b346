package conn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/internal/ready"
	"github.com/suiro-go/suiro/internal/saturate"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// A UnixDialConfig says how a UnixStream is dialed.
type UnixDialConfig struct {
	Addr, LocalAddr *net.UnixAddr // LocalAddr nil: no name

	// Control, if not nil, is called with the socket before it is bound, perhaps on a worker: it
	// must not block.
	Control func(network, address string, c syscall.RawConn) error

	// Timeout bounds the dial. 0: Config.ConnectTimeout. A dial only waits while the listener's
	// backlog is full.
	Timeout time.Duration
}

// DialUnix dials a UnixStream (see sched.Block). The error is a *net.OpError. It matches
// os.ErrDeadlineExceeded after the time-out, and on Windows errors.ErrUnsupported. When ctx ends,
// it is that of ctx.
func (g *Group) DialUnix(ctx context.Context, cfg UnixDialConfig) (*UnixStream, error) {
	if err := endOf(ctx); err != nil {
		return nil, err
	}
	f := &dialUnixFuture{group: g, cfg: cfg, fd: -1}
	return ready.WaitFor(ctx, g.core.Runtime, f, f.opError)
}

// DialUnixFuture is DialUnix as a future, for one connection: its first poll starts the dial. A
// dropped future ends the attempt.
func (g *Group) DialUnixFuture(cfg UnixDialConfig) sched.Future[*UnixStream] {
	return &dialUnixFuture{group: g, cfg: cfg, fd: -1}
}

// A dialUnixFuture is a UnixStream that is being dialed. The system does not report when a full
// backlog has room, so the future tries again after pauses of 1 to 32 ms.
type dialUnixFuture struct {
	group *Group
	cfg   UnixDialConfig
	fd    int // -1: there is none
	until time.Duration
	pause time.Duration
	sleep *sched.SleepFuture // nil: it is not waiting
}

var (
	_ sched.Future[*UnixStream] = (*dialUnixFuture)(nil)
	_ sched.Canceler            = (*dialUnixFuture)(nil)
)

// The pauses between attempts.
const (
	firstDialPause   = time.Millisecond
	longestDialPause = 32 * time.Millisecond
)

// Poll is the connection, or the error.
func (f *dialUnixFuture) Poll(cx *sched.Context) (*UnixStream, error) {
	if f.sleep != nil {
		if _, err := f.sleep.Poll(cx); err != nil {
			return nil, err
		}
		f.sleep = nil
	}
	s, err := f.try()
	switch {
	case err == sched.ErrPending:
		_, err = f.sleep.Poll(cx)
		if err == nil { // the time-out is over: the next poll says so
			cx.Waker().Wake()
		}
		return nil, sched.ErrPending
	case err != nil:
		f.Cancel()
		return nil, f.opError(err)
	}
	return s, nil
}

// try makes one attempt. The error is sched.ErrPending if it is to be made again after f.sleep.
func (f *dialUnixFuture) try() (*UnixStream, error) {
	if f.group.over() {
		return nil, net.ErrClosed
	}
	if f.fd < 0 {
		if err := f.begin(); err != nil {
			return nil, err
		}
	}
	switch errno := sock.ConnectUnix(f.fd, f.cfg.Addr.Name); errno {
	case 0:
		return f.connected()
	case syscall.EAGAIN:
	default:
		return nil, sock.Error("connect", errno)
	}
	now := f.group.core.Runtime.Now()
	if f.until != 0 && now >= f.until {
		return nil, os.ErrDeadlineExceeded
	}
	f.pause = min(max(firstDialPause, 2*f.pause), longestDialPause)
	wait := f.pause
	if f.until != 0 {
		wait = min(wait, f.until-now)
	}
	f.sleep = sched.Sleep(wait)
	return nil, sched.ErrPending
}

// begin makes the socket.
func (f *dialUnixFuture) begin() (err error) {
	g := f.group
	if err := filesPass(); err != nil {
		return err
	}
	if err := g.core.Engine.Start(); err != nil {
		return err
	}
	if limit := cmp.Or(f.cfg.Timeout, g.core.Config.ConnectTimeout); limit > 0 {
		f.until = saturate.Add(g.core.Runtime.Now(), limit)
	}
	var local net.Addr
	if f.cfg.LocalAddr != nil {
		local = f.cfg.LocalAddr
	}
	f.fd, err = sock.ToDial(f.cfg.Addr, local, f.cfg.Control)
	return err
}

// over reports whether the group takes no new connection.
func (g *Group) over() bool {
	select {
	case <-g.core.Runtime.Done():
		return true
	default:
		return g.core.Aborting()
	}
}

// connected makes the stream of the connected socket.
func (f *dialUnixFuture) connected() (*UnixStream, error) {
	s := &UnixStream{local: sock.LocalAddr(f.fd), peer: f.cfg.Addr}
	fd := f.fd
	f.fd = -1
	if err := s.open(f.group, fd, true); err != nil {
		return nil, err
	}
	return s, nil
}

// Cancel ends the attempt.
func (f *dialUnixFuture) Cancel() {
	if f.sleep != nil {
		f.sleep.Cancel()
		f.sleep = nil
	}
	if f.fd >= 0 {
		sock.Close(f.fd)
		f.fd = -1
	}
}

func (f *dialUnixFuture) opError(err error) error {
	e := &net.OpError{Op: "dial", Net: "unix", Addr: f.cfg.Addr, Err: err}
	if f.cfg.LocalAddr != nil {
		e.Source = f.cfg.LocalAddr
	}
	return e
}

// filesPass is nil where a process can pass open files to another one.
func filesPass() error {
	if reactor.MaxRights == 0 {
		return fmt.Errorf("conn: this system passes no files between processes: use network unix without them: %w", errors.ErrUnsupported)
	}
	return nil
}
