package load

import (
	"crypto/tls"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// A wire is a connection, non-blocking.
type wire interface {
	// read returns 0 and no error when there is nothing to read. more: there may be more at once.
	// ended: the server has ended the connection, behind the unread bytes.
	read(p []byte, ended bool) (n int, more bool, err error)
	// write returns less than it was given when there is no room for more.
	write(p []byte) (int, error)
	// flush sends the written bytes, and reports whether all are sent.
	flush() (bool, error)
}

type tcpWire int

func (fd tcpWire) read(p []byte, ended bool) (int, bool, error) {
	n, err := read(int(fd), p)
	return n, n == len(p) || ended && n > 0, err // a short read has emptied it: later bytes make an edge
}

func (fd tcpWire) write(p []byte) (int, error) { return write(int(fd), p) }

func (fd tcpWire) flush() (bool, error) { return true, nil }

// A tlsWire is crypto/tls over a descriptor that is not waited for: it takes errWait for an error
// that passes.
type tlsWire struct {
	*tls.Conn
	transport *transport
}

// handshake waits for the other side, at most as long as stall without a byte.
func handshake(fd int) (*tlsWire, error) {
	t := &transport{fd: fd, waits: true}
	w := &tlsWire{tls.Client(t, &tls.Config{InsecureSkipVerify: true}), t}
	err := w.Handshake()
	t.waits = false
	return w, err
}

func (w *tlsWire) read(p []byte, _ bool) (int, bool, error) {
	n, err := w.Read(p)
	if err == errWait {
		return 0, false, nil
	}
	return n, n > 0, err
}

func (w *tlsWire) write(p []byte) (int, error) {
	if gone, err := w.flush(); !gone {
		return 0, err
	}
	return w.Write(p) // all of it: what the descriptor does not take, the transport keeps
}

func (w *tlsWire) flush() (bool, error) {
	err := w.transport.send()
	return len(w.transport.rest) == 0, err
}

// A transport is what crypto/tls reads and writes.
type transport struct {
	net.Conn // for the methods that it does not call
	fd       int
	waits    bool   // for what it reads
	rest     []byte // not sent yet
}

// errWait says that there is nothing to read.
var errWait net.Error = waiting{}

type waiting struct{}

func (waiting) Error() string   { return "nothing to read" }
func (waiting) Timeout() bool   { return true }
func (waiting) Temporary() bool { return true }

func (t *transport) Read(p []byte) (int, error) {
	for {
		n, err := read(t.fd, p)
		if n > 0 || err != nil {
			return n, err
		}
		if !t.waits {
			return 0, errWait
		}
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLIN}}, int(stall.Milliseconds()))
		if n == 0 && err == nil {
			return 0, os.ErrDeadlineExceeded
		}
	}
}

func (t *transport) Write(p []byte) (int, error) {
	t.rest = append(t.rest, p...)
	return len(p), t.send()
}

func (t *transport) Close() error { return nil } // the descriptor is its owner's

func (t *transport) send() error {
	for len(t.rest) > 0 {
		n, err := write(t.fd, t.rest)
		if err != nil || n == 0 {
			return err
		}
		t.rest = append(t.rest[:0], t.rest[n:]...)
	}
	return nil
}
