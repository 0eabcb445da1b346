package conn

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/flow"
	"github.com/suiro-go/suiro/internal/sock"
)

// SendFile queues n bytes of a regular file from offset on, all the rest for n < 0,
// in order with what is written before and after. The kernel sends them from its
// cache (sendfile(2)) in steps of at most 1 MiB, as the peer takes them; what it has to
// fetch from a disk first holds up the worker for that long. The file is not read
// before that: what it holds then is sent. NotifySent tells when all has been; f itself
// may be closed at once, and its position stays as it is.
//
// Unsent counts the bytes, so that OnData waits as for any full queue; MaxWrite does
// not. A file that turns out to be shorter by then resets the connection, with an error
// that matches io.ErrUnexpectedEOF.
//
// Errors, with nothing queued: one that matches io.ErrUnexpectedEOF when the file has
// fewer bytes, errors.ErrUnsupported when it is no regular one (ReadFrom copies those),
// those of Write, ErrWriteQueueFull also with 64 files queued, or that of the system
// when there is no descriptor to be had: each file that is queued holds one.
func (c *Conn) SendFile(f *os.File, offset, n int64) error {
	if err := c.writable(); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("conn: cannot send %s, which is no regular file: use ReadFrom: %w", f.Name(), errors.ErrUnsupported)
	case offset < 0 || offset > size || n > size-offset:
		return fmt.Errorf("conn: cannot send %d bytes from %d on of %s, which has %d: %w", n, offset, f.Name(), size, io.ErrUnexpectedEOF)
	case n < 0:
		n = size - offset
	}
	if n == 0 {
		return nil
	}
	return c.queueFile(f, f.Name(), offset, n)
}

// queueFile queues a piece of a file that is known to be there.
func (c *Conn) queueFile(f syscall.Conn, name string, offset, n int64) error {
	if c.out.Files() >= maxFiles {
		return ErrWriteQueueFull
	}
	own, err := sock.DupFile(f, name)
	if err != nil {
		return sock.Advise(err)
	}
	c.out.AddFile(&flow.File{File: own, FD: int(own.Fd()), Offset: offset, Left: n, Plain: !sock.HaveSendfile || c.filter() != nil})
	return nil
}

// ReadFrom implements io.ReaderFrom, for io.Copy. What is a regular file, or an
// io.LimitedReader over one, is queued from its position on as SendFile does, up to
// the size it has now, and its position moved behind that. Anything else is copied until
// it ends, with a Read that must not block for long, and at most until MaxWrite bytes
// are queued: then the error is ErrWriteQueueFull.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	if err := c.writable(); err != nil {
		return 0, err
	}
	if n, handled, err := c.readFromFile(r); handled {
		return n, err
	}
	var total int64
	for {
		room := c.group.cfg.MaxWrite - c.unsentMemory()
		if room <= 0 {
			return total, ErrWriteQueueFull
		}
		p := c.AvailableBuffer(min(room, bufs.Few))
		n, err := r.Read(p[len(p):min(cap(p), len(p)+room)])
		c.out.Extend(n)
		total += int64(n)
		switch {
		case err == io.EOF:
			return total, nil
		case err != nil:
			return total, err
		}
	}
}

// A readableFile is an *os.File, also as its own WriteTo passes it to io.Copy.
type readableFile interface {
	fs.File
	io.Seeker
	syscall.Conn
}

func (c *Conn) readFromFile(r io.Reader) (n int64, handled bool, err error) {
	limited, _ := r.(*io.LimitedReader)
	if limited != nil {
		r = limited.R
	}
	f, ok := r.(readableFile)
	if !ok {
		return 0, false, nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, false, nil // let Read say what is wrong with it
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, false, nil
	}
	n = max(0, info.Size()-at)
	if limited != nil {
		n = max(0, min(n, limited.N))
	}
	if n == 0 {
		// Files whose size is only known by reading them (of /proc, say) have 0.
		return 0, info.Size() > 0 || limited != nil && limited.N <= 0, nil
	}
	if err = c.queueFile(f, info.Name(), at, n); err != nil {
		return 0, true, err
	}
	if limited != nil {
		limited.N -= n
	}
	_, err = f.Seek(n, io.SeekCurrent)
	return n, true, err
}

var _ io.ReaderFrom = (*Conn)(nil)
