package server

import (
	"context"
	"net"

	"github.com/suiro-go/suiro/sched"
)

// ListenStream listens for tasks: Accept returns each connection as a Stream. The server needs no
// Handler. Its fields apply as with Listen, but the workers have their own threads. With TLS, a
// Stream speaks TLS, with the handshake complete.
//
// Start tasks on the workers with sched.Go and the Runtime of Server.Group. Shutdown closes the
// listener and then waits for the connections. Their tasks learn of it from Stream.Draining. A
// plain Read does not end: await sched.Select(s.Readable(), s.Draining()) before it. Shutdown
// documents how remaining tasks end. Close resets the connections.
func (s *Server) ListenStream(network, addr string) (*StreamListener, error) {
	l, err := s.listenStream(network, addr)
	if err != nil {
		return nil, listenError(network, addr, err)
	}
	return &StreamListener{l}, nil
}

func (s *Server) listenStream(network, addr string) (*socketListener, error) {
	group, err := s.startForTasks()
	if err != nil {
		return nil, err
	}
	all, err := s.listen(network, addr, group.Runtime().Workers())
	if err != nil {
		s.release()
		return nil, err
	}
	l, err := s.openListener(group, all, s.overTLS)
	if err != nil {
		closeAll(all)
		s.release()
		return nil, err
	}
	if s.Listening != nil {
		s.Listening(l.Addr())
	}
	return l, nil
}

// A StreamListener accepts Streams for tasks. Its methods may be called from any task and any
// goroutine. A task must not call Close, which blocks.
type StreamListener struct{ l *socketListener }

// Accept waits for a connection (see sched.Block). In a stackful task the Stream is bound to the
// task; elsewhere it is not bound, and a task that gets it calls Bind. The error matches
// net.ErrClosed after Close.
func (l *StreamListener) Accept(ctx context.Context) (*Stream, error) { return l.l.AcceptStream(ctx) }

// AcceptFuture is Accept as a future, for one connection. It takes its place in the queue of
// waiting calls at its first poll. A dropped future takes no connection.
func (l *StreamListener) AcceptFuture() sched.Future[*Stream] { return l.l.AcceptStreamFuture() }

// TryAccept takes a connection that has arrived, as a Stream that is not bound. The error is
// ErrNoneArrived if there is none, and matches net.ErrClosed after Close.
func (l *StreamListener) TryAccept() (*Stream, error) { return l.l.TryAcceptStream() }

// Close stops accepting. Accepted Streams stay open. Connections that no call has taken are reset.
// When the last one has ended, and nothing else is served, the workers stop. A second call returns
// an error that matches net.ErrClosed.
func (l *StreamListener) Close() error { return l.l.Close() }

// Addr returns the address of the listener, also after Close.
func (l *StreamListener) Addr() net.Addr { return l.l.Addr() }
