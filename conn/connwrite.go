package conn

import (
	"io"
	"os"
)

// Write queues a copy of p. All bytes written while a handler's method runs leave as one send when
// it returns. Flush sends sooner. So does a write of 16 KiB or more, with the bytes written before:
// the socket takes its share at once, and only the rest is copied. The error is ErrWriteQueueFull,
// or matches net.ErrClosed; then nothing of p was taken.
func (c *Conn) Write(p []byte) (int, error) { return c.core.Write(p) }

// WriteNow is Write without the wait for the handler's return: the socket takes its share of p at
// once, with the bytes written before, and only the rest is copied. Use it if many connections send
// the same bytes, which none of them then copies. While a send is in flight, and over TLS, it is
// Write.
func (c *Conn) WriteNow(p []byte) (int, error) { return c.core.WriteNow(p) }

// WriteString is Write for a string.
func (c *Conn) WriteString(s string) (int, error) { return c.core.WriteString(s) }

// Writev queues a copy of all of bufs, or of none.
func (c *Conn) Writev(bufs [][]byte) (int, error) { return c.core.Writev(bufs) }

// AvailableBuffer is room for n more bytes at the end of the queue. Append at most n bytes and give
// the result to Write, which then copies nothing.
func (c *Conn) AvailableBuffer(n int) []byte { return c.core.AvailableBuffer(n) }

// Unsent is the number of bytes written that the kernel has not taken yet, as
// far as the connection knows.
func (c *Conn) Unsent() int { return c.core.Unsent() }

// NotifySent calls f once, as a handler's method is called, before OnClose. f gets nil once nothing
// is unsent, or the error that prevented that. From OnClose on, NotifySent calls f itself, with the
// error of OnClose, or one that matches net.ErrClosed if that is nil.
func (c *Conn) NotifySent(f func(error)) { c.core.NotifySent(f) }

// Flush gives all written bytes to the kernel with the worker's next system call. If a send is in
// flight, they follow it.
func (c *Conn) Flush() error { return c.core.Flush() }

// SendFile queues n bytes of a regular file from offset on; a negative n means all the rest. They
// keep their place between other writes. The kernel sends them from its cache (sendfile(2)) in
// steps of at most 1 MiB, as the peer takes them. A read from a disk holds up the worker for that
// long. The file is read when it is sent: its contents at that moment count. NotifySent reports
// when all bytes have been sent. f itself may be closed at once, and its position stays as it is.
//
// Unsent counts the bytes, so OnData waits as for any full queue; MaxWrite does not count them. A
// file that is shorter by then resets the connection, with an error that matches
// io.ErrUnexpectedEOF. All the rest of a file that has at most a page is read and queued at once,
// as by ReadFrom, since files of /proc and /sys have other sizes than they say.
//
// After an error nothing is queued. It matches io.ErrUnexpectedEOF if the file has fewer bytes, and
// errors.ErrUnsupported if the file is not regular (ReadFrom copies those). It is ErrWriteQueueFull
// also if 64 files are queued. Each queued file holds a descriptor: if there is none, the error is
// the system's. Other errors are those of Write.
func (c *Conn) SendFile(f *os.File, offset, n int64) error { return c.core.SendFile(f, offset, n) }

// ReadFrom implements io.ReaderFrom, for io.Copy. A regular file, or an io.LimitedReader over one,
// is queued as SendFile does, from its position up to its present size. Its position moves behind
// that. Any other reader is copied until it ends, by Reads that must not block for long. The copy
// ends with ErrWriteQueueFull once MaxWrite bytes are queued.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) { return c.core.ReadFrom(r) }

var (
	_ io.Reader     = (*Conn)(nil)
	_ io.WriterTo   = (*Conn)(nil)
	_ io.Writer     = (*Conn)(nil)
	_ io.ReaderFrom = (*Conn)(nil)
)
