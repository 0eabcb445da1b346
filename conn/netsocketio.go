package conn

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// Read implements net.Conn.
func (s *Socket) Read(p []byte) (int, error) {
	n, err := s.duplex.Read(p)
	if err != nil {
		return n, s.wrap("read", err)
	}
	return n, nil
}

// WriteTo writes all that is read to w until the peer finishes, as io.Copy does, which
// calls it, but holds no buffer while nothing comes.
func (s *Socket) WriteTo(w io.Writer) (int64, error) {
	n, err, readErr := s.duplex.CopyTo(w)
	if readErr != nil {
		return n, s.wrap("read", readErr)
	}
	return n, err
}

// Write implements net.Conn. It is not mixed with the writes of other goroutines. With
// an error, the bytes it counts may still be sent.
func (s *Socket) Write(p []byte) (int, error) {
	n, err := s.duplex.Write(p)
	if err != nil {
		return n, s.wrap("write", err)
	}
	return n, nil
}

// ReadFrom writes all that is read from r, as io.Copy does, which calls it.
func (s *Socket) ReadFrom(r io.Reader) (int64, error) {
	n, err, writeErr := s.duplex.CopyFrom(r)
	if writeErr != nil {
		return n, s.wrap("write", writeErr)
	}
	return n, err
}

// Close implements net.Conn. Written bytes are sent in the background, unless SetLinger says
// otherwise. Reads and writes end, at once, with net.ErrClosed. A second Close returns that as
// well. If Close sends bytes that tasks have gathered and these are refused, it returns that error.
// The Socket is closed all the same.
func (s *Socket) Close() error { return s.opErrorOf("close", s.duplex.Close()) }

// CloseWrite ends writing once all written bytes are sent, as that of *net.TCPConn does. Its error
// may be that of gathered bytes, as for Close.
func (s *Socket) CloseWrite() error { return s.opErrorOf("close", s.duplex.CloseWrite()) }

// CloseRead says that nothing more will be read, as that of *net.TCPConn does: reads
// return io.EOF.
func (s *Socket) CloseRead() error { return s.opErrorOf("close", s.duplex.CloseRead()) }

// NotifyEnd calls f once, when nothing more will arrive: the peer has finished, or the connection
// has ended. Bytes that arrived before may be unread. So a goroutine that waits for something else
// learns that its peer is gone, without a read. If nothing will arrive already, f is called before
// NotifyEnd returns; else on a worker, so f must not block. A later call replaces f. nil, Close and
// Return take it back: a call that has begun by then goes on. While the peer is held back, because
// much is unread, only a reset is seen, and on Wine 8 not even that.
func (s *Socket) NotifyEnd(f func()) { s.duplex.NotifyEnd(f) }

// wrap gives the error that ended a connection the shape it has in package net. It is an error of
// the call that returns it, whichever end noticed it.
func (s *Socket) wrap(op string, err error) error {
	s.failed.Store(true)
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

// opErrorOf is opError, or nil if err is.
func (s *Socket) opErrorOf(op string, err error) error {
	if err == nil {
		return nil
	}
	return s.opError(op, err)
}

func (s *Socket) opError(op string, err error) error {
	if s.returned.Load() && errors.Is(err, net.ErrClosed) {
		err = errReturned
	}
	e := &net.OpError{Op: op, Net: "tcp", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: err}
	if e.Source != nil {
		e.Net = e.Source.Network()
	}
	return e
}
