package core

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"syscall"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/flow"
	"github.com/suiro-go/suiro/internal/sock"
)

// SendFile is Conn.SendFile of package conn.
func (c *Conn) SendFile(f *os.File, offset, n int64) error {
	if err := c.Writable(); err != nil {
		return err
	}
	n, err := PieceSize(f, offset, n)
	switch {
	case err != nil || n == 0:
		return err
	case n < 0:
		_, err = c.ReadFrom(RestOf(f, offset))
		return err
	}
	return c.AddFile(f, f.Name(), offset, n)
}

// RestOf reads f from offset on.
func RestOf(f *os.File, offset int64) io.Reader {
	return io.NewSectionReader(f, offset, math.MaxInt64-offset)
}

// PieceSize is n, or, if that is negative, the size of f behind offset. It stays negative if only
// RestOf can tell the size. It fails if f has fewer bytes or is not regular.
func PieceSize(f *os.File, offset, n int64) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	switch {
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("conn: cannot send %s, which is no regular file: use ReadFrom: %w", f.Name(), errors.ErrUnsupported)
	case offset < 0 || offset > size || n > size-offset:
		return 0, fmt.Errorf("conn: cannot send %d bytes from %d on of %s, which has %d: %w", n, offset, f.Name(), size, io.ErrUnexpectedEOF)
	case n < 0 && flow.Sized(size):
		n = size - offset
	}
	return n, nil
}

// ReadFrom is Conn.ReadFrom of package conn.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	if err := c.Writable(); err != nil {
		return 0, err
	}
	if n, handled, err := c.addFileOf(r); handled {
		return n, err
	}
	var total int64
	for {
		room := c.Group.Config.MaxWrite - c.unsentMemory()
		if room <= 0 {
			return total, ErrWriteQueueFull
		}
		p := c.AvailableBuffer(min(room, bufs.Few))
		n, err := r.Read(p[len(p):min(cap(p), len(p)+room)])
		c.Out.Extend(n)
		total += int64(n)
		switch {
		case err == io.EOF:
			return total, nil
		case err != nil:
			return total, err
		}
	}
}

const (
	// maxFiles bounds a connection's transfers: each holds a descriptor.
	maxFiles = 64
	// SendfileStep bounds one call, so that others have a turn: 1 MiB is some 200 µs.
	SendfileStep = 1 << 20
)

// AddFile queues a piece of a file that is known to be there.
func (w *writer) AddFile(f syscall.Conn, name string, offset, n int64) error {
	if w.Out.Files() >= maxFiles {
		return ErrWriteQueueFull
	}
	own, err := sock.DupFile(f, name)
	if err != nil {
		return sock.Advise(err)
	}
	w.Out.AddFile(&flow.File{File: own, FD: int(own.Fd()), Offset: offset, Left: n, Plain: !sock.HaveSendfile || w.c.Filter() != nil})
	return nil
}

// addFileOf is ReadFrom for a regular file. handled: it was one, and not one of those whose size is
// only known by reading them.
func (w *writer) addFileOf(r io.Reader) (n int64, handled bool, err error) {
	f, ok := flow.PieceOf(r)
	if !ok || f.Size == 0 {
		return 0, ok, nil
	}
	if err = w.AddFile(f.File, f.Name, f.Offset, f.Size); err != nil {
		return 0, true, err
	}
	return f.Size, true, f.Read()
}

// sendFile goes on with the first piece of a file. It reports whether there may be more to do now.
func (w *writer) sendFile(t *flow.File) (more bool) {
	c := w.c
	if t.Left > 0 && !t.Plain {
		if !w.Begin() {
			return false
		}
		n, errno := sock.Sendfile(c.Endpoint.FD, t.FD, t.Offset, int(min(t.Left, SendfileStep)))
		switch {
		case errno == syscall.EAGAIN:
			w.AwaitRoom(0)
			return false
		case errno != 0 || n == 0:
			w.Done(0)
			switch {
			case errno == 0:
				w.tooShort(t)
			case errno == syscall.EINVAL || sock.Missing(errno) || errno == syscall.EOPNOTSUPP:
				t.Plain = true // not with this file system, or not in this container
				return true
			default:
				c.FailSend(c.SysError("write", "sendfile", errno))
			}
			return false
		}
		if w.Out.Went(n); t.Left > 0 { // others first
			w.AwaitRoom(n)
			return false
		}
		w.Done(n)
	}
	if t.Left > 0 {
		switch n, err := w.Out.Load(&c.Driver.Buffers); {
		case n > 0 && t.Left > 0:
			return true
		case n > 0:
		case errors.Is(err, io.EOF):
			w.tooShort(t)
			return false
		default:
			c.FailWrite(c.OpError("write", err))
			return false
		}
	}
	w.Out.EndFile(&c.Driver.Buffers)
	return true
}

func (w *writer) tooShort(t *flow.File) {
	c := w.c
	c.FailWrite(c.OpError("write", fmt.Errorf("conn: %s was truncated while it was sent: %d bytes are missing: %w",
		t.Name(), t.Left, io.ErrUnexpectedEOF)))
}
