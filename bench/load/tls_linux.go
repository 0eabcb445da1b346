package load

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// A secure is the TLS of a connection. While hands are shaken its transport waits; afterwards its reads do not, so that one
// thread has many: what is not there yet is an error that passes.
type secure struct {
	*tls.Conn
	fd     int
	shaken bool
}

// shake shakes hands with whichever server it is.
func shake(fd int) (*secure, error) {
	s := &secure{fd: fd}
	s.Conn = tls.Client((*transport)(s), &tls.Config{InsecureSkipVerify: true})
	if err := s.Handshake(); err != nil {
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	s.shaken = true
	return s, nil
}

// read returns 0 and no error when there is nothing to read.
func (s *secure) read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	switch {
	case errors.Is(err, errNotYet):
		err = nil
	case err == io.EOF:
		err = errEnded
	}
	return n, err
}

// A transport is what crypto/tls has for a connection.
type transport secure

var _ net.Conn = (*transport)(nil)

func (t *transport) Read(p []byte) (int, error) {
	for end := time.Now().Add(patience); ; {
		n, err := read(t.fd, p)
		switch {
		case err == errEnded:
			return 0, io.EOF
		case n > 0 || err != nil:
			return n, err
		case t.shaken:
			return 0, errNotYet
		case time.Now().After(end):
			return 0, fmt.Errorf("nothing came for %v: %w", patience, io.ErrNoProgress)
		}
		poll(t.fd, unix.POLLIN, patience)
	}
}

// Write waits for room, which for messages of less than a socket buffer there always is.
func (t *transport) Write(p []byte) (int, error) {
	for sent := 0; ; {
		n, err := write(t.fd, p[sent:])
		if sent += n; err != nil || sent == len(p) {
			return sent, err
		}
		poll(t.fd, unix.POLLOUT, patience)
	}
}

func (t *transport) Close() error                     { return nil }
func (t *transport) LocalAddr() net.Addr              { return nil }
func (t *transport) RemoteAddr() net.Addr             { return nil }
func (t *transport) SetDeadline(time.Time) error      { return nil }
func (t *transport) SetReadDeadline(time.Time) error  { return nil }
func (t *transport) SetWriteDeadline(time.Time) error { return nil }

// notYet is that there is nothing to read. crypto/tls keeps an error for good unless it is temporary.
type notYet struct{}

var errNotYet net.Error = notYet{}

func (notYet) Error() string   { return "load: nothing to read yet" }
func (notYet) Timeout() bool   { return false }
func (notYet) Temporary() bool { return true }
