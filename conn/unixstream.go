package conn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/ready"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// ErrFilesLost is returned by RecvFiles beside the bytes that came with files, when the kernel has
// dropped some of the files because the process may open no more. The others are closed. It matches
// syscall.EMFILE.
var ErrFilesLost = fmt.Errorf("conn: files were lost: raise the limit on open files (ulimit -n): %w", syscall.EMFILE)

// A UnixStream is a Unix stream connection for tasks and goroutines on which open files are passed
// (SCM_RIGHTS). The caller makes each system call itself, since the receives of a Conn, a Socket or
// a Stream would drop the files. On Windows passing files is an error that matches
// errors.ErrUnsupported.
//
// All methods may be called from any goroutine and from tasks on any worker. Receives must be one
// at a time for their bytes to be in order, and so must sends. Each wait has the forms of package
// syncx. Errors are *net.OpError. They match net.ErrClosed after Close and os.ErrDeadlineExceeded
// after a deadline. When the group drains or aborts its connections, the connection is closed.
//
// # The place of files in the byte stream
//
// Files travel with the first byte of the p of their SendFiles. The RecvFiles that receives this
// byte returns the files, and it returns no byte behind that p. It may return bytes that were sent
// before p. So a protocol says by its own bytes which message has files. The kernel closes files
// that nobody receives.
type UnixStream struct {
	sock  ready.Socket
	calls reactor.Calls
	local net.Addr
	peer  net.Addr
}

// ServeUnix takes a Unix stream connection of package net, accepted or dialed. The group works on a
// copy of the descriptor, so uc may be closed at once.
func (g *Group) ServeUnix(uc *net.UnixConn) (*UnixStream, error) {
	fd, err := sock.OfUnixConn(uc)
	if err != nil {
		return nil, err
	}
	s := &UnixStream{local: uc.LocalAddr(), peer: uc.RemoteAddr()}
	if err := s.open(g, fd, false); err != nil {
		return nil, s.opError("open", err)
	}
	return s, nil
}

// open takes a descriptor over. With an error it is closed.
func (s *UnixStream) open(g *Group, fd int, outbound bool) error {
	s.calls = reactor.NewCalls(g.core.Engine.Reactor)
	return s.sock.Open(&g.core.Engine, fd, outbound)
}

// LocalAddr is the address of this end, a *net.UnixAddr.
func (s *UnixStream) LocalAddr() net.Addr { return s.local }

// RemoteAddr is the address of the other end, a *net.UnixAddr.
func (s *UnixStream) RemoteAddr() net.Addr { return s.peer }

// PeerCred is Conn.PeerCred.
func (s *UnixStream) PeerCred() (cred Cred, err error) {
	err = s.with("get", func(fd int) error {
		cred, err = sock.PeerCred(fd)
		return err
	})
	return cred, err
}

// CloseWrite sends the end of the byte stream (shutdown(SHUT_WR)).
func (s *UnixStream) CloseWrite() error { return s.with("close", sock.ShutdownWrite) }

// Close makes all calls that wait, and all later calls, return an error that matches net.ErrClosed.
// It does not wait. The peer receives the bytes that were sent, and then the end.
func (s *UnixStream) Close() error {
	if err := s.sock.Close(); err != nil {
		return s.opError("close", err)
	}
	return nil
}

// SetDeadline sets the deadlines of receives and of sends. The zero time is no deadline.
func (s *UnixStream) SetDeadline(t time.Time) error {
	if err := s.SetReadDeadline(t); err != nil {
		return err
	}
	return s.SetWriteDeadline(t)
}

// Release implements sched.Releaser, for a UnixStream that is a result that nobody takes. It is
// Close.
func (s *UnixStream) Release() {
	if s != nil {
		_ = s.Close() // it may be closed
	}
}

// SetReadDeadline sets the deadline of receives, those that wait included. The zero time is no
// deadline.
func (s *UnixStream) SetReadDeadline(t time.Time) error { return s.setDeadline(ready.In, t) }

// SetWriteDeadline sets the deadline of sends, those that wait included. The zero time is no
// deadline.
func (s *UnixStream) SetWriteDeadline(t time.Time) error { return s.setDeadline(ready.Out, t) }

func (s *UnixStream) setDeadline(d ready.Direction, t time.Time) error {
	at := time.Duration(0)
	if !t.IsZero() {
		at = max(1, s.sock.Group().RT.At(t))
	}
	if err := s.sock.SetDeadline(d, at); err != nil {
		return s.opError("set", err)
	}
	return nil
}

func (s *UnixStream) with(op string, f func(fd int) error) error {
	fd, err := s.sock.EnterAny()
	if err == nil {
		err = f(fd)
		s.sock.Leave()
	}
	if err != nil {
		return s.opError(op, err)
	}
	return nil
}

func (s *UnixStream) opError(op string, err error) error {
	if errors.Is(err, net.ErrClosed) {
		err = net.ErrClosed
	}
	return &net.OpError{Op: op, Net: "unix", Source: s.local, Addr: s.peer, Err: err}
}

// TryRecvFiles receives bytes into p, which must not be empty, and the files that came with them,
// if any have arrived. Else the error is ErrWouldBlock. It is io.EOF at the end. The files are
// close-on-exec and the caller's to close.
func (s *UnixStream) TryRecvFiles(p []byte) (n int, files []*os.File, err error) {
	return s.tryRecvFiles(p, new(ready.Attempt))
}

func (s *UnixStream) tryRecvFiles(p []byte, a *ready.Attempt) (n int, files []*os.File, err error) {
	fd, err := s.sock.Enter(ready.In, a)
	if err != nil {
		return 0, nil, s.opError("read", err)
	}
	n, fds, lost, errno := s.calls.TryRecvRights(fd, p)
	s.sock.Leave()
	switch {
	case errno == syscall.EAGAIN:
		return 0, nil, core.ErrWouldBlock
	case errno != 0:
		return 0, nil, s.opError("read", sock.Error("recvmsg", errno))
	case lost:
		for _, fd := range fds {
			sock.Close(fd)
		}
		return n, nil, s.opError("read", ErrFilesLost)
	case n == 0 && len(p) > 0:
		return 0, nil, io.EOF
	}
	for _, fd := range fds {
		files = append(files, os.NewFile(uintptr(fd), "received from "+s.peer.String()))
	}
	return n, files, nil
}

// TrySendFiles sends as much of p as the socket has room for, and the files with its first byte. It
// returns how many bytes were taken. The error is ErrWouldBlock if that is not all; the files have
// left unless n is 0. p must not be empty if there are files. There may be at most 250 files; they
// stay open.
func (s *UnixStream) TrySendFiles(p []byte, files []*os.File) (n int, err error) {
	return s.trySendFiles(p, files, new(ready.Attempt))
}

func (s *UnixStream) trySendFiles(p []byte, files []*os.File, a *ready.Attempt) (n int, err error) {
	if len(files) > 0 && len(p) == 0 || len(files) > max(1, reactor.MaxRights) {
		return 0, s.opError("write", os.NewSyscallError("sendmsg", syscall.EINVAL))
	}
	fd, err := s.sock.Enter(ready.Out, a)
	if err != nil {
		return 0, s.opError("write", err)
	}
	defer s.sock.Leave()
	errno, err := withDescriptors(files, nil, func(fds []int) (errno syscall.Errno) {
		for errno == 0 && n < len(p) {
			var sent int
			if n > 0 {
				fds = nil
			}
			sent, errno = s.calls.TrySendRights(fd, p[n:], fds)
			n += sent
		}
		return errno
	})
	switch {
	case err != nil:
		return 0, s.opError("write", err)
	case errno == syscall.EAGAIN:
		return n, core.ErrWouldBlock
	case errno != 0:
		return n, s.opError("write", sock.Error("sendmsg", errno))
	}
	return n, nil
}

// withDescriptors calls f with the descriptors of files, which stay open meanwhile.
func withDescriptors(files []*os.File, fds []int, f func(fds []int) syscall.Errno) (errno syscall.Errno, err error) {
	if len(fds) == len(files) {
		return f(fds), nil
	}
	raw, err := files[len(fds)].SyscallConn()
	if err != nil {
		return 0, err
	}
	var inner error
	err = raw.Control(func(fd uintptr) { errno, inner = withDescriptors(files, append(fds, int(fd)), f) })
	return errno, errors.Join(err, inner)
}

// RecvFiles receives at least one byte into p, and the files that came with the bytes. See
// TryRecvFiles.
func (s *UnixStream) RecvFiles(ctx context.Context, p []byte) (n int, files []*os.File, err error) {
	closed := func(err error) error { return s.opError("read", err) }
	got, err := ready.WaitFor(ctx, s.sock.Group().RT, s.RecvFilesFuture(p), closed)
	return got.N, got.Files, err
}

// ReceivedFiles is what a future of RecvFilesFuture has received.
type ReceivedFiles struct {
	N     int // bytes
	Files []*os.File
}

// Release implements sched.Releaser: it closes the files of a result that nobody takes.
func (r ReceivedFiles) Release() {
	for _, f := range r.Files {
		_ = f.Close()
	}
}

// RecvFilesFuture is RecvFiles as a future. It can be polled again to receive more. p is the
// future's until that is done or abandoned. One that is abandoned has received nothing.
func (s *UnixStream) RecvFilesFuture(p []byte) sched.Future[ReceivedFiles] {
	return &recvFilesFuture{s: s, p: p}
}

// A recvFilesFuture receives bytes and files.
type recvFilesFuture struct {
	s    *UnixStream
	p    []byte
	wait ready.Wait
}

// Poll implements sched.Future.
func (f *recvFilesFuture) Poll(cx *sched.Context) (got ReceivedFiles, err error) {
	if err := f.s.sock.Resume(cx, &f.wait); err != nil {
		return got, f.s.ended("read", err)
	}
	if !cx.Proceed() {
		return got, sched.ErrPending
	}
	got.N, got.Files, err = f.s.tryRecvFiles(f.p, &f.wait.Attempt)
	if err != core.ErrWouldBlock {
		return got, err
	}
	cx.Refund()
	return got, f.s.ended("read", f.s.sock.Await(cx, ready.In, &f.wait))
}

// Cancel implements sched.Canceler.
func (f *recvFilesFuture) Cancel() { f.s.sock.Drop(ready.In, &f.wait) }

// SendFiles sends all of p, and the files with its first byte. It returns how many bytes were sent.
// See TrySendFiles.
func (s *UnixStream) SendFiles(ctx context.Context, p []byte, files []*os.File) (int, error) {
	f := s.SendFilesFuture(p, files)
	closed := func(err error) error { return s.opError("write", err) }
	_, err := ready.WaitFor(ctx, s.sock.Group().RT, f, closed)
	return f.sent, err
}

// SendFilesFuture is SendFiles as a future. p must not change, and the files must stay open, until
// that is done or abandoned. One that is abandoned may have sent some of p: Sent is how much.
func (s *UnixStream) SendFilesFuture(p []byte, files []*os.File) *SendFilesFuture {
	return &SendFilesFuture{s: s, p: p, files: files}
}

// A SendFilesFuture sends bytes and files. Its value is the number of bytes. The type is exported
// for Sent, which is of use after an abort.
type SendFilesFuture struct {
	s     *UnixStream
	p     []byte
	files []*os.File
	sent  int
	wait  ready.Wait
}

// Poll implements sched.Future.
func (f *SendFilesFuture) Poll(cx *sched.Context) (int, error) {
	if err := f.s.sock.Resume(cx, &f.wait); err != nil {
		return f.sent, f.s.ended("write", err)
	}
	if !cx.Proceed() {
		return 0, sched.ErrPending
	}
	n, err := f.s.trySendFiles(f.p[f.sent:], f.files, &f.wait.Attempt)
	if f.sent += n; n > 0 {
		f.files = nil
	}
	if err != core.ErrWouldBlock {
		return f.sent, err
	}
	if n == 0 {
		cx.Refund()
	}
	return 0, f.s.ended("write", f.s.sock.Await(cx, ready.Out, &f.wait))
}

// Sent is how many bytes of p were sent.
func (f *SendFilesFuture) Sent() int { return f.sent }

// Cancel implements sched.Canceler.
func (f *SendFilesFuture) Cancel() { f.s.sock.Drop(ready.Out, &f.wait) }

// ended is the error that a wait has ended with.
func (s *UnixStream) ended(op string, err error) error {
	if err == nil || err == sched.ErrPending {
		return err
	}
	return s.opError(op, err)
}
