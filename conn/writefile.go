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

// SendFile queues n bytes of a regular file from offset on; a negative n means all the rest. They
// keep their place between other writes. The kernel sends them from its cache (sendfile(2)) in
// steps of at most 1 MiB, as the peer takes them. A read from a disk holds up the worker for that
// long. The file is read when it is sent: its contents at that moment count. NotifySent reports
// when all bytes have been sent. f itself may be closed at once, and its position stays as it is.
//
// Unsent counts the bytes, so OnData waits as for any full queue; MaxWrite does not count them. A
// file that is shorter by then resets the connection, with an error that matches
// io.ErrUnexpectedEOF.
//
// After an error nothing is queued. It matches io.ErrUnexpectedEOF if the file has fewer bytes, and
// errors.ErrUnsupported if the file is not regular (ReadFrom copies those). It is ErrWriteQueueFull
// also if 64 files are queued. Each queued file holds a descriptor: if there is none, the error is
// the system's. Other errors are those of Write.
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

// ReadFrom implements io.ReaderFrom, for io.Copy. A regular file, or an io.LimitedReader over one,
// is queued as SendFile does, from its position up to its present size. Its position moves behind
// that. Any other reader is copied until it ends, by Reads that must not block for long. The copy
// ends with ErrWriteQueueFull once MaxWrite bytes are queued.
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
		return 0, false, nil // Read returns the reason
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
