package tlsmem

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// A transport is a Session as crypto/tls reads from it and writes to it.
type transport Session

var _ net.Conn = (*transport)(nil)

// Read implements net.Conn.
func (t *transport) Read(p []byte) (int, error) {
	switch {
	case t.shaking != nil:
		return t.shaking.read(p)
	case t.lent != nil:
		return t.lent.Read(p)
	case len(t.cipher) == 0:
		return 0, ErrDry
	}
	n := copy(p, t.cipher)
	t.cipher = t.cipher[n:]
	return n, nil
}

// Write implements net.Conn.
func (t *transport) Write(p []byte) (int, error) {
	switch {
	case t.shaking != nil:
		if err := t.owner.Send(append([]byte(nil), p...)); err != nil {
			return 0, err
		}
	case t.lent != nil:
		return t.lent.Write(p)
	default:
		t.out = append(t.owner.Grow(t.out, len(p)), p...)
	}
	return len(p), nil
}

// Close implements net.Conn. Unless it is lent, the owner ends the connection.
func (t *transport) Close() error {
	if t.lent != nil {
		return t.lent.Close()
	}
	return nil
}

// LocalAddr implements net.Conn.
func (t *transport) LocalAddr() net.Addr { return t.local }

// RemoteAddr implements net.Conn.
func (t *transport) RemoteAddr() net.Addr { return t.owner.RemoteAddr() }

// SetDeadline implements net.Conn. Unless the transport is lent, deadlines are the owner's.
func (t *transport) SetDeadline(at time.Time) error {
	if t.lent != nil {
		return t.lent.SetDeadline(at)
	}
	return nil
}

// SetReadDeadline is as SetDeadline.
func (t *transport) SetReadDeadline(at time.Time) error {
	if t.lent != nil {
		return t.lent.SetReadDeadline(at)
	}
	return nil
}

// SetWriteDeadline is as SetDeadline.
func (t *transport) SetWriteDeadline(at time.Time) error {
	if t.lent != nil {
		return t.lent.SetWriteDeadline(at)
	}
	return nil
}

// ErrDry is the error of Read when no ciphertext is left. It is temporary, since crypto/tls repeats
// any other error for good.
var ErrDry error = dryError{}

type dryError struct{}

var _ net.Error = dryError{}

func (dryError) Error() string   { return "conn: nothing to decrypt" }
func (dryError) Timeout() bool   { return false }
func (dryError) Temporary() bool { return true }

// SyscallConn is for users of tls.Conn.NetConn and tls.ClientHelloInfo.Conn. A function gets a
// duplicate of the descriptor. Write is refused, since its bytes would mix with records.
func (t *transport) SyscallConn() (syscall.RawConn, error) { return raw{t.owner}, nil }

// A raw is the syscall.RawConn of a transport.
type raw struct{ owner Owner }

// Control implements syscall.RawConn.
func (r raw) Control(f func(fd uintptr)) error {
	return r.do("raw-control", func(fd uintptr) bool { f(fd); return true })
}

// Read implements syscall.RawConn.
func (r raw) Read(f func(fd uintptr) (done bool)) error { return r.do("raw-read", f) }

func (r raw) do(op string, f func(fd uintptr) bool) error {
	if err := r.owner.WithFD(f); err != nil {
		return r.error(op, err)
	}
	return nil
}

// Write implements syscall.RawConn.
func (r raw) Write(func(fd uintptr) (done bool)) error {
	return r.error("raw-write", fmt.Errorf("the connection speaks TLS: %w", errors.ErrUnsupported))
}

func (r raw) error(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: r.owner.RemoteAddr(), Err: err}
}
