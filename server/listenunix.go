package server

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/sched"
)

// ListenUnix listens on a path, or on Linux on an abstract name that begins with "@", for
// connections on which tasks and goroutines pass open files (SCM_RIGHTS). The server needs no
// Handler. Tasks are started with sched.Go on Group().Runtime(). UnixMode, Control, the buffers and
// the limits of Conn apply. TLS and Proxy are errors that match errors.ErrUnsupported, and so is
// Windows. Each error is a *net.OpError.
//
// Shutdown and Close close the listener and its connections. When all of them are closed, and
// nothing else is served, the workers stop.
//
// A Handler, a Stream and a Socket drop files that their peer sends, because their receives take
// bytes alone. Listen with ListenUnix for a peer that sends files.
func (s *Server) ListenUnix(path string) (*UnixListener, error) {
	l, err := s.listenFiles(path)
	if err != nil {
		return nil, listenError("unix", path, err)
	}
	return l, nil
}

func (s *Server) listenFiles(path string) (*UnixListener, error) {
	if s.TLS != nil || s.Proxy != nil {
		return nil, fmt.Errorf("server: TLS or Proxy is set, and files pass beside plain bytes alone: use a Server without them: %w", errors.ErrUnsupported)
	}
	group, err := s.startForTasks()
	if err != nil {
		return nil, err
	}
	all, err := s.listen("unix", path, 1)
	if err == nil {
		var l *UnixListener
		if l, err = s.openUnix(group, all); err == nil {
			if s.Listening != nil {
				s.Listening(l.Addr())
			}
			return l, nil
		}
		closeAll(all)
	}
	s.release()
	return nil, err
}

func (s *Server) openUnix(group *conn.Group, all []net.Listener) (*UnixListener, error) {
	inner, err := group.ListenUnix(conn.UnixListenerConfig{Accepted: s.members.ofUnix()}, all[0].(*net.UnixListener))
	if err != nil {
		return nil, err
	}
	kept, err := s.keep(group, inner, all)
	if err != nil {
		return nil, err
	}
	return &UnixListener{inner, kept}, nil
}

// ofUnix returns the function that is called with each UnixStream. nil members: nil.
func (m *members) ofUnix() func(*UnixStream) (ended func()) {
	if m == nil {
		return nil
	}
	return func(s *UnixStream) func() {
		end := func() error {
			if err := s.Close(); !errors.Is(err, net.ErrClosed) {
				return err
			}
			return nil
		}
		x := &member{end, end}
		x.stay(m.join(x))
		return func() { m.leave(x) }
	}
}

// A UnixListener accepts UnixStreams for tasks and goroutines. Its methods may be called from any
// goroutine and from tasks on any worker. A task must not call Close, which blocks.
type UnixListener struct {
	l    *conn.UnixListener
	kept *keptListener
}

// Accept waits for a connection (see sched.Block). The error matches net.ErrClosed after Close.
func (l *UnixListener) Accept(ctx context.Context) (*UnixStream, error) { return l.l.Accept(ctx) }

// AcceptFuture is Accept as a future, for one connection. It takes its place in the queue of
// waiting calls at its first poll. A dropped future takes no connection.
func (l *UnixListener) AcceptFuture() sched.Future[*UnixStream] { return l.l.AcceptFuture() }

// TryAccept takes a connection that has arrived. The error is ErrNoneArrived if there is none, and
// matches net.ErrClosed after Close.
func (l *UnixListener) TryAccept() (*UnixStream, error) { return l.l.TryAccept() }

// Close stops accepting and removes the path. Accepted UnixStreams stay open. Connections that no
// call has taken are closed. When the last one has ended, and nothing else is served, the workers
// stop. A second call returns an error that matches net.ErrClosed.
func (l *UnixListener) Close() error { return l.kept.Close() }

// Addr returns the address of the listener, a *net.UnixAddr, also after Close.
func (l *UnixListener) Addr() net.Addr { return l.l.Addr() }
