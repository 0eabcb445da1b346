package conn

import (
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/flow"
	"github.com/suiro-go/suiro/sched"
)

// SendFile writes n bytes of a regular file from offset on, in their place between other writes. A
// negative n means all the rest. The kernel sends them from its cache (sendfile(2)), also in
// functions of a handler's Stream; over TLS, and where the system cannot, they are copied. A read
// from a disk holds up the worker for up to 1 MiB. The file is read when it is sent, and its
// position stays as it is. All the rest of a file that has at most a page is read at once, since
// files of /proc and /sys have other sizes than they say.
//
// SendFile waits as Write does: of a handler's Stream until at most Config.HighWater plus 1 MiB is
// unsent, else until the kernel has taken everything. Then f may be closed. sent counts the bytes
// up to an error. Up to 1 MiB more may still be sent after an abort of the task or a deadline.
//
// The error matches io.ErrUnexpectedEOF, with nothing sent, if the file has fewer bytes, and
// errors.ErrUnsupported if the file is not regular: ReadFrom copies those. A file that is truncated
// meanwhile resets the connection, with an error that matches io.ErrUnexpectedEOF. Other errors are
// those of Write. As for Write, a task that is not a function of the handler needs a Stream of
// Bind.
func (s *Stream) SendFile(f *os.File, offset, n int64) (sent int64, err error) {
	n, err = core.PieceSize(f, offset, n)
	switch {
	case err != nil:
		return 0, err
	case n < 0:
		return s.ReadFrom(core.RestOf(f, offset))
	}
	return s.sendPiece(f, f.Name(), offset, n)
}

// sendPiece sends a piece of a regular file, in steps, so that little of it is queued.
func (s *Stream) sendPiece(f syscall.Conn, name string, offset, n int64) (sent int64, err error) {
	for err == nil && sent < n {
		step := min(n-sent, core.SendfileStep)
		if s.isHere() {
			step, err = s.queueStep(f, name, offset+sent, step)
		} else if k, cx, elsewhere := s.waits(); elsewhere != nil {
			return sent, s.opError("write", elsewhere)
		} else if err = k.sendStep(cx, f, name, offset+sent, step); err != nil {
			return sent, k.wrap("write", err)
		}
		sent += step
	}
	return sent, err
}

// queueStep queues one piece in a function of the handler, once there is room. If it has to wait,
// it queues nothing, since another task may share the connection during the wait.
func (s *Stream) queueStep(f syscall.Conn, name string, offset, n int64) (queued int64, err error) {
	if err := s.unwritable(); err != nil {
		return 0, s.opError("write", err)
	}
	if s.room() <= 0 {
		if s.outlives() {
			return 0, s.opError("write", errReturned)
		}
		s.needsRoom = true
		s.running.co.BeforeSuspend().Suspend()
		return 0, nil
	}
	s.asked = false
	if err := s.c.AddFile(f, name, offset, n); err != nil {
		return 0, s.opError("write", err)
	}
	return n, nil
}

// sendStep makes the connection's task send a piece, and waits until it is sent.
func (s *Socket) sendStep(cx *sched.Context, f syscall.Conn, name string, offset, n int64) error {
	step := &sentStep{socket: s}
	queue := func(c *core.Conn) {
		err := c.Writable()
		if err == nil {
			err = c.AddFile(f, name, offset, n)
		}
		if err != nil {
			step.end(err)
			return
		}
		c.NotifySent(step.end)
	}
	err := s.duplex.HoldIn(cx, func() error { return s.conn().Tell(core.Command{Kind: core.CmdFile, What: queue}) }, step.over.Load)
	if err == nil {
		err = step.err
	}
	return err
}

// A sentStep is a piece that a connection's task sends.
type sentStep struct {
	socket *Socket
	over   atomic.Bool
	err    error // once it is over
}

// end is called by the connection's task.
func (t *sentStep) end(err error) {
	t.err = err
	t.over.Store(true)
	t.socket.duplex.MadeRoom()
}

// sendFileOf is ReadFrom for a regular file. handled is false for other readers.
func (s *Stream) sendFileOf(r io.Reader) (sent int64, handled bool, err error) {
	f, ok := flow.PieceOf(r)
	if !ok || f.Size == 0 {
		return 0, ok, nil
	}
	sent, err = s.sendPiece(f.File, f.Name, f.Offset, f.Size)
	f.Size = sent
	if moved := f.Read(); err == nil {
		err = moved
	}
	return sent, true, err
}
