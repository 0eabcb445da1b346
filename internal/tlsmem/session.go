package tlsmem

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"

	"github.com/suiro-go/suiro/sched"
)

// An Owner is the connection beneath a Session. No lock of the Session is held while a method runs.
// The handshake's goroutine calls the first four.
type Owner interface {
	// Send queues ciphertext and keeps p.
	Send(p []byte) error
	// ReadOn says that the handshake has read all that it was fed, after Feed reported full.
	ReadOn()
	// Panicked reports a panic of a function of the tls.Config. Done follows.
	Panicked(p *sched.PanicError)
	// Done is the goroutine's last call. err is nil if the handshake is complete: then the
	// owner's task calls Ready. It is sched.ErrGoexit if a function of the tls.Config has
	// called runtime.Goexit.
	Done(err error)

	// Grow returns p with room for n more bytes. The owner's task calls it within Read and
	// Encrypt.
	Grow(p []byte, n int) []byte
	// RemoteAddr is the peer's address. Any goroutine may call it.
	RemoteAddr() net.Addr
	// WithFD calls f with a duplicate of the descriptor. Any goroutine may call it.
	WithFD(f func(fd uintptr) bool) error
}

// A Session is the TLS of one connection. Init is called first. All methods but State are for the
// owner's task: they must not be called from two goroutines at a time. None of them blocks.
type Session struct {
	tls   *tls.Conn
	owner Owner

	shaking *handshake // nil: it is complete
	lent    net.Conn   // goroutines have tls, over this; nil: the task has it
	local   net.Addr
	ended   bool   // by the peer's close-notify
	said    bool   // our close-notify
	cipher  []byte // received, for the transport
	out     []byte // written to the transport, to be sent
	state   atomic.Pointer[tls.ConnectionState]
}

// Init makes s the server's or the client's side. The Session must not be copied any more.
func (s *Session) Init(owner Owner, cfg *tls.Config, client bool) {
	s.owner = owner
	s.shaking = newHandshake(s)
	if client {
		s.tls = tls.Client((*transport)(s), cfg)
	} else {
		s.tls = tls.Server((*transport)(s), cfg)
	}
}

// Complete reports whether the handshake is, and Ready was called.
func (s *Session) Complete() bool { return s.shaking == nil }

// Supply brings ciphertext for Read, which uses p until it returns ErrDry. The next Supply
// replaces p.
func (s *Session) Supply(p []byte) { s.cipher = p }

// Supplied is how many bytes of ciphertext Read has not looked at yet.
func (s *Session) Supplied() int { return len(s.cipher) }

// Read decrypts into p. It may return both bytes and an error. The error is ErrDry when
// ciphertext is lacking, and io.EOF after the peer's close-notify. Any other error ends the
// connection, after an alert that Encrypt returns.
func (s *Session) Read(p []byte) (int, error) {
	n, err := s.tls.Read(p)
	if err == io.EOF {
		s.ended = true
	}
	return n, err
}

// Ended reports whether Read has seen the peer's close-notify.
func (s *Session) Ended() bool { return s.ended }

// Encrypt returns the bytes to send for plain, after the bytes that Unsent counts. bye adds our
// close-notify. A Session that has sent an alert takes no plaintext any more.
func (s *Session) Encrypt(plain []byte, bye bool) (cipher []byte, err error) {
	if len(plain) > 0 {
		_, err = s.tls.Write(plain)
	}
	if bye {
		s.said = true
		_ = s.tls.CloseWrite()
	}
	cipher, s.out = s.out, nil
	return cipher, err
}

// Said reports whether Encrypt was asked for our close-notify.
func (s *Session) Said() bool { return s.said }

// Unsent is how many bytes of ciphertext wait for the next Encrypt.
func (s *Session) Unsent() int { return len(s.out) }

// Lend gives the tls.Conn away: it reads from and writes to over from now on. rest is
// ciphertext that over's Read must return first.
func (s *Session) Lend(over net.Conn) (c *tls.Conn, rest []byte) {
	rest, s.cipher = s.cipher, nil
	s.lent = over
	return s.tls, rest
}

// Lent is the argument of Lend; nil: the task has the Session.
func (s *Session) Lent() net.Conn { return s.lent }

// TakeBack ends the phase that Lend began. rest is ciphertext that has arrived since: the Session
// keeps a copy. unsent is ciphertext. The next Encrypt returns it.
func (s *Session) TakeBack(rest, unsent []byte) {
	s.lent = nil
	s.cipher, s.out = append([]byte(nil), rest...), unsent
}

// Known is State once the handshake is complete. After a handshake that has failed, it is the part
// that was agreed on, such as the server's name. nil: the handshake has not ended.
func (s *Session) Known() *tls.ConnectionState {
	h := s.shaking
	if h == nil {
		return s.State()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed
}

// State is the same at each call, and nil before the handshake is complete. Any goroutine may call
// it after Ready.
func (s *Session) State() *tls.ConnectionState {
	if s.state.Load() == nil && s.Complete() {
		state := s.tls.ConnectionState()
		s.state.CompareAndSwap(nil, &state)
	}
	return s.state.Load()
}
