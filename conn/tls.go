package conn

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/suiro-go/suiro/internal/deadlines"
	"github.com/suiro-go/suiro/internal/tlsmem"
	"github.com/suiro-go/suiro/internal/turns"
)

// A TLSConfig says how connections shake hands.
type TLSConfig struct {
	// Config is that of crypto/tls, which does all of the work: certificates, ALPN,
	// GetConfigForClient, sessions, KeyLogWriter are its. It must not be changed any
	// more. Its functions may block: they are called on goroutines of their own. A
	// client's Renegotiation is not supported.
	Config *tls.Config

	// Timeout bounds the handshake, from the connection's establishment on, with the
	// time it waits for its turn. 0: 10 s. Negative: not bounded.
	Timeout time.Duration

	// MaxHandshakes bounds the handshakes of a server that compute at a time, the functions of
	// Config included; the others wait for their turn, in order. A handshake that waits for its
	// client does not count. One begins when all of the client's first message has arrived: a
	// silent client keeps no other waiting. Timeout and the group's Config.MaxConns bound the
	// number of silent clients. 0: 256 for each worker. Negative: no bound. It is not for clients.
	MaxHandshakes int

	// Refuse, if not nil, returns the plaintext answer to a client that has begun with something
	// else than TLS. begin is the first five bytes. It is called on a worker. nil: nothing.
	Refuse func(begin [5]byte) string
}

// ServeTLS is a Handler for connections that speak TLS, as a server does. h is called when the
// handshake is complete, OnOpen first, and its reads and writes are plaintext. If a handshake
// fails, only OnClose is called. Conn.TLS returns the state.
//
// Bytes that h writes are encrypted when they are sent. So everything written in one run, or while
// a send was in flight, becomes few records. Close and CloseWrite send close-notify before the FIN,
// and the peer's close-notify is its end. A FIN without one ends the connection with an error that
// matches io.ErrUnexpectedEOF: the received data may have been cut short.
//
// A handshake takes some 100 µs of a processor, or a millisecond with RSA. It is done on a
// goroutine, on none of the workers. Send and Do of a Handle wait for it.
//
// SendFile works, by reading, and Splice by copying. Sockets do not work, except those of LendTLS:
// put crypto/tls over them.
func ServeTLS(cfg TLSConfig, h Handler) Handler {
	hs := newHandshakeHandler(cfg, h)
	if cfg.MaxHandshakes >= 0 {
		hs.turns, hs.most = new(turns.Turns), cfg.MaxHandshakes
	}
	return hs
}

// ConnectTLS is ServeTLS for the client's side, of connections that are dialed. Config needs a
// ServerName, or InsecureSkipVerify.
func ConnectTLS(cfg TLSConfig, h Handler) Handler {
	hs := newHandshakeHandler(cfg, h)
	hs.client = true
	return hs
}

// TLS is the state of a connection that speaks TLS and has shaken hands; nil of others.
// It is the same at each call, and must not be changed.
func (c *Conn) TLS() *tls.ConnectionState {
	if f := c.filter(); f != nil {
		return f.tls.State()
	}
	return nil
}

// TLS is Conn.TLS.
func (s *Stream) TLS() *tls.ConnectionState { return s.c.TLS() }

func newHandshakeHandler(cfg TLSConfig, h Handler) *handshakeHandler {
	if cfg.Config == nil {
		cfg.Config = new(tls.Config) // crypto/tls reports the missing settings
	}
	return &handshakeHandler{inner: h, cfg: cfg.Config, timeout: cmp.Or(cfg.Timeout, 10*time.Second), refuse: cfg.Refuse}
}

var (
	errTruncated     = fmt.Errorf("conn: the peer has ended without close-notify: %w", io.ErrUnexpectedEOF)
	errRenegotiation = fmt.Errorf("conn: tls.Config.Renegotiation is set: use crypto/tls over a Socket for that: %w", errors.ErrUnsupported)
	errTwice         = fmt.Errorf("conn: the connection speaks TLS already: %w", errors.ErrUnsupported)
	errOverSocket    = fmt.Errorf("conn: a Socket cannot be the handler within TLS: use crypto/tls over the Socket: %w", errors.ErrUnsupported)
)

// A handshakeHandler is the handler of a connection during its handshake.
type handshakeHandler struct {
	plain   // of a consumer's parts, those that a handshake has no use for
	inner   Handler
	cfg     *tls.Config
	client  bool
	timeout time.Duration
	turns   *turns.Turns // nil: everybody's at once
	most    int          // turns at a time; 0: as many as befit the workers
	refuse  func([5]byte) string
}

var _ consumer = (*handshakeHandler)(nil)

func (*handshakeHandler) consumes() {}

// appetite implements consumer.
func (*handshakeHandler) appetite() int { return tlsmem.MaxFed }

// sips implements consumer.
func (*handshakeHandler) sips() bool { return true }

// cover encrypts the bytes of c, from the handshake on.
func (h *handshakeHandler) cover(c *Conn) *filter {
	if f := c.filter(); f != nil {
		return f
	}
	f := &filter{conn: c, handler: h}
	f.tls.Init((*tlsOwner)(f), h.cfg, h.client)
	x := c.more()
	c.mu.Lock()
	x.filter = f
	c.mu.Unlock()
	c.reading.clear(direct | much | ample) // the handler must not see the bytes as received
	return f
}

// OnOpen implements Handler.
func (h *handshakeHandler) OnOpen(c *Conn) error {
	known := c.filter()
	if known != nil && known.tls.Begun() {
		return errTwice
	}
	f := h.cover(c)
	if len(c.out.Queued) > 0 && known == nil { // somebody was early
		f.keep(command{kind: cmdSend, data: c.out.Queued})
		c.out.Queued = nil
	}
	if h.timeout > 0 {
		if err := c.SetReadDeadline(c.Now().Add(h.timeout)); err != nil {
			return err
		}
	}
	if _, ok := socketOf(h.inner); ok {
		return errOverSocket
	}
	if !h.client {
		return nil
	}
	if h.cfg.Renegotiation != tls.RenegotiateNever {
		return errRenegotiation
	}
	h.shake(c, f)
	return nil
}

// OnData implements Handler: received bytes are the handshake's.
func (h *handshakeHandler) OnData(c *Conn) error {
	f := c.filter()
	begun := f.tls.Begun()
	if !begun && !tlsmem.Whole(c.in.Unread) {
		return nil
	}
	p, _ := c.Next(-1)
	if f.tls.Feed(p) {
		_ = c.PauseRead()
	}
	if !begun {
		h.shake(c, f)
		if c.is(drained) { // in time: it may go on
			c.extras.clock.Set(deadlines.Read, c.group.rt.Now()+DrainHandshake)
		}
	}
	return nil
}

// handshakesPerWorker is TLSConfig.MaxHandshakes for each worker.
const handshakesPerWorker = 256

func (h *handshakeHandler) shake(c *Conn, f *filter) {
	f.tls.Begin(c.LocalAddr(), h.turns, cmp.Or(h.most, handshakesPerWorker*c.group.rt.Workers()))
}

// OnEOF implements Handler. The peer may have sent all of its part.
func (h *handshakeHandler) OnEOF(c *Conn) error {
	f := c.filter()
	if !f.tls.Begun() {
		return c.opError("handshake", io.ErrUnexpectedEOF)
	}
	f.tls.End(io.EOF)
	return nil
}

// refused is the end of a handshake that has failed.
func (h *handshakeHandler) refused(c *Conn, err error) {
	var no tls.RecordHeaderError
	if h.refuse != nil && errors.As(err, &no) && no.Conn != nil { // nothing was sent to it
		enqueue(c, h.refuse(no.RecordHeader))
	}
	c.conclude(c.opError("handshake", err))
}

// OnWritable implements Handler.
func (*handshakeHandler) OnWritable(*Conn) error { return nil }

// OnDeadline implements Handler.
func (h *handshakeHandler) OnDeadline(c *Conn) error {
	err := c.opError("handshake", os.ErrDeadlineExceeded)
	c.filter().tls.GiveUp(err)
	return err
}

// DrainHandshake bounds a handshake that is under way, or begins, when a server begins to shut
// down. A handshake without any byte of its client yet is given a quarter of that to begin.
const DrainHandshake = time.Second

// OnDrain implements Handler. The handshake of an accepted connection may end while there is a
// server to answer the request that follows. Then OnDrain of the handler within TLS is called. Once
// dialed connections are drained as well, there is no such server.
func (h *handshakeHandler) OnDrain(c *Conn) {
	if !c.is(outbound) && !c.group.draining(true) {
		patience := DrainHandshake
		if !c.filter().tls.Begun() && len(c.in.Unread) == 0 {
			patience /= 4
		}
		k := &c.extras.clock
		if by, at := c.group.rt.Now()+patience, k.At(deadlines.Read); at == 0 || by < at {
			k.Set(deadlines.Read, by)
		}
		return
	}
	c.filter().tls.GiveUp(c.opError("handshake", net.ErrClosed))
	_ = c.Close()
}

// OnClose implements Handler: the handshake is not complete.
func (h *handshakeHandler) OnClose(c *Conn, err error) {
	if err == nil {
		err = c.opError("handshake", net.ErrClosed)
	}
	if f := c.filter(); f != nil {
		f.tls.GiveUp(err)
	}
	if !h.client {
		c.group.cfg.Logger.Info("conn: TLS handshake failed", "remote", c.RemoteAddr(), "error", err)
	}
	h.inner.OnClose(c, err)
}
