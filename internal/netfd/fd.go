package netfd

import (
	"net"
	"sync/atomic"
	"syscall"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/readiness"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// An FD is a non-blocking socket. Any goroutine and any task may call its methods. One call in each
// direction may be under way at a time; a second one fails.
type FD struct {
	group    *engine.Group
	calls    reactor.Calls
	end      engine.Endpoint
	kind     Kind
	outbound bool

	life         readiness.Life
	halves       [2]half // by direction
	registration readiness.Registration
	home         atomic.Pointer[engine.Driver] // has the Watch, or had it last; nil: none had
	refused      atomic.Pointer[error]         // why the kernel does not watch it
	marks        atomic.Uint32                 // the edges with a mark that have come
	resets       atomic.Bool                   // the close is a reset
}

// A Kind is what a socket transfers.
type Kind uint8

// The kinds.
const (
	TCP   Kind = iota // bytes; a short read leaves none behind
	Other             // any other: a Unix socket, datagrams, connections to be accepted
)

// marked are the edges after which a short read does not mean that the socket is empty.
const marked = reactor.EdgeEnd | reactor.EdgeUrgent | reactor.EdgeError

// Open takes a non-blocking descriptor over. cx is the caller's context if it is a task of the
// group's runtime, else nil. outbound says that the socket was dialed. With an error the descriptor
// is closed: net.ErrClosed after the group's end has begun.
func Open(g *engine.Group, cx *sched.Context, sysfd int, kind Kind, outbound bool) (*FD, error) {
	if err := g.RT.Start(); err != nil {
		sock.Close(sysfd)
		return nil, err
	}
	if errno := reactor.PrepareTry(sysfd); errno != 0 {
		sock.Close(sysfd)
		return nil, sock.Error("ioctlsocket", errno)
	}
	if !g.Enter(outbound) {
		sock.Close(sysfd)
		return nil, net.ErrClosed
	}
	fd := &FD{group: g, calls: reactor.NewCalls(g.Config.Reactor), kind: kind, outbound: outbound}
	fd.end.FD, fd.end.Target = sysfd, (*target)(fd)
	for d := range fd.halves {
		fd.halves[d].fd, fd.halves[d].direction = fd, readiness.Direction(d)
	}
	g.Table.Add(&fd.end)
	if g.Aborting() { // AbortAll may have looked before
		fd.Abort()
		return nil, net.ErrClosed
	}
	fd.register(cx)
	return fd, nil
}

// Close makes calls that are under way and later ones return net.ErrClosed, and closes the
// descriptor once no call uses it. A second Close returns net.ErrClosed.
func (fd *FD) Close() error {
	first, last := fd.life.Close()
	switch {
	case last: // no call is under way, so none waits
		fd.shut()
	case first: // the last call or user shuts it, perhaps before these signals, which do not use it
		for d := range fd.halves {
			fd.halves[d].Signal()
		}
	default:
		return net.ErrClosed
	}
	return nil
}

// Abort is Close, except that the peer sees a reset, and that nothing unsent is sent.
func (fd *FD) Abort() {
	fd.resets.Store(true)
	_ = fd.Close() // it may be closed already
}

// Closed reports whether Close was called.
func (fd *FD) Closed() bool { return fd.life.Closed() }

// shut closes the descriptor. No call uses it any more, and none will.
func (fd *FD) shut() {
	for d := range fd.halves {
		fd.halves[d].stop()
	}
	if fd.resets.Load() {
		sock.ResetOnClose(fd.end.FD)
	}
	op := reactor.Op{Kind: reactor.Close, FD: fd.end.FD, NoWait: !sock.Lingers(fd.end.FD)}
	lives := fd.registration.Close()
	if lives {
		op.Target, op.Token = reactor.Watch, fd.end.Token
	}
	home := fd.home.Load()
	if home == nil || home.R.Submit(&op) != nil { // it knows no reactor, or that is closed
		sock.Close(fd.end.FD)
		lives = lives && !fd.registration.End()
	}
	if !lives {
		fd.gone()
	}
}

// gone gives the token back.
func (fd *FD) gone() {
	fd.group.Table.Remove(&fd.end)
	fd.group.Census.Leave(fd.outbound)
}

// leave ends a call.
func (fd *FD) leave(d readiness.Direction) {
	if fd.life.Leave(d) {
		fd.shut()
	}
}

// Use calls f with the descriptor, for an option or an address. The error is net.ErrClosed.
func (fd *FD) Use(f func(sysfd int)) error {
	if err := fd.life.Hold(); err != nil {
		return err
	}
	defer func() {
		if fd.life.Release() {
			fd.shut()
		}
	}()
	f(fd.end.FD)
	return nil
}

// CloseWrite ends the output: the peer reads the end.
func (fd *FD) CloseWrite() error {
	var failed error
	if err := fd.Use(func(sysfd int) { failed = sock.ShutdownWrite(sysfd) }); err != nil {
		return err
	}
	return failed
}

// temporary reports whether an operation or call with that result is to be tried again.
func temporary(errno syscall.Errno) bool {
	return errno == syscall.EAGAIN || errno == syscall.EINTR || errno == syscall.ENOBUFS
}
