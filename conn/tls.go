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

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/deadlines"
	"github.com/suiro-go/suiro/internal/semaphore"
	"github.com/suiro-go/suiro/internal/tlsmem"
)

// A TLSConfig configures TLS for ServeTLS and ConnectTLS.
type TLSConfig struct {
	// Config is the configuration of crypto/tls, which implements TLS: certificates, ALPN,
	// GetConfigForClient, sessions, KeyLogWriter. It must not be changed after the call. Its
	// functions may block: each handshake runs on its own goroutine. A client's Renegotiation is
	// not supported. nil: an empty one.
	Config *tls.Config

	// Timeout limits the handshake, from the time when the connection is established. The time in
	// which the handshake waits because of MaxHandshakes counts. 0: 10 s. Negative: no limit.
	Timeout time.Duration

	// MaxHandshakes is how many handshakes of a server may compute at the same time, with the
	// functions of Config. More handshakes wait, in order. A handshake that waits for its client
	// does not count, and none begins before the client's first message is complete. So silent
	// clients delay no handshake. Timeout and the group's Config.MaxConns limit how many silent
	// clients there are. 0: 256 for each worker. Negative: no limit. Clients ignore it.
	MaxHandshakes int

	// PlaintextReply returns a plaintext reply to a client whose first bytes are not TLS.
	// recordHeader is the first five bytes, as in tls.RecordHeaderError. The connection is closed
	// after the reply. It is called on a worker, and must not block. nil, or a result of "": no
	// reply.
	PlaintextReply func(recordHeader [5]byte) string
}

// ServeTLS returns a Handler for the server's side of TLS connections. h is called when the
// handshake is complete, OnOpen first, and its reads and writes are plaintext. If a handshake
// fails, only OnClose is called. Conn.TLS returns the state.
//
// Bytes that h writes are encrypted when they are sent. So everything written in one run, or while
// a send was in flight, becomes few records. Close and CloseWrite send close-notify before the FIN,
// and the peer's close-notify is its end. A FIN without one ends the connection with an error that
// matches io.ErrUnexpectedEOF: the received data may have been cut short.
//
// A handshake takes some 100 µs of CPU time, or 1 ms with RSA. It runs on a goroutine, not on a
// worker. Send and Do of a Handle wait for it.
//
// SendFile works, by reading, and Splice by copying. Sockets do not work, except those of LendTLS:
// put crypto/tls over them.
func ServeTLS(cfg TLSConfig, h Handler) Handler {
	hs := newHandshakeHandler(cfg, h)
	if cfg.MaxHandshakes >= 0 {
		hs.sem, hs.limit = new(semaphore.FIFO), cfg.MaxHandshakes
	}
	return hs
}

// ConnectTLS returns a Handler for the client's side of TLS connections, which were dialed. It is
// like ServeTLS otherwise. Config needs a ServerName, or InsecureSkipVerify.
func ConnectTLS(cfg TLSConfig, h Handler) Handler {
	hs := newHandshakeHandler(cfg, h)
	hs.client = true
	return hs
}

// TLS returns the state of a TLS connection after its handshake, and nil for other connections. All
// calls return the same pointer. The state must not be changed.
func (c *Conn) TLS() *tls.ConnectionState { return tlsState(c.core.Filter()) }

// TLS is Conn.TLS. Before the connection is open, it is nil.
func (s *Stream) TLS() *tls.ConnectionState {
	if s.ofTask == nil {
		return tlsState(s.c.Filter())
	}
	c := s.ofTask.socket.conn()
	if c == nil {
		return nil
	}
	return tlsState(c.FilterNow())
}

func tlsState(f *core.Filter) *tls.ConnectionState {
	if f != nil {
		return f.Session.State()
	}
	return nil
}

func newHandshakeHandler(cfg TLSConfig, h Handler) *handshakeHandler {
	if cfg.Config == nil {
		cfg.Config = new(tls.Config) // crypto/tls reports the missing settings
	}
	return &handshakeHandler{inner: h, cfg: cfg.Config, timeout: cmp.Or(cfg.Timeout, 10*time.Second), reply: cfg.PlaintextReply}
}

var (
	errRenegotiation = fmt.Errorf("conn: tls.Config.Renegotiation is set: use crypto/tls over a Socket for that: %w", errors.ErrUnsupported)
	errTwice         = fmt.Errorf("conn: the connection speaks TLS already: %w", errors.ErrUnsupported)
)

// A handshakeHandler is the temporary handler of a connection during its handshake.
type handshakeHandler struct {
	core.Plain // of a consumer's parts, those that a handshake has no use for
	inner      Handler
	cfg        *tls.Config
	client     bool
	timeout    time.Duration
	sem        *semaphore.FIFO      // nil: no limit
	limit      int                  // handshakes that compute at a time; 0: handshakesPerWorker
	reply      func([5]byte) string // TLSConfig.PlaintextReply
}

var _ core.Consumer = (*handshakeHandler)(nil)

// Stackful implements Stackful.
func (h *handshakeHandler) Stackful() bool { return isStackful(h.inner) }

// ReadCapacity implements core.Consumer.
func (*handshakeHandler) ReadCapacity() int { return tlsmem.MaxFed }

// Cover implements core.Handshake.
func (h *handshakeHandler) Cover(c *core.Conn) { h.cover(c) }

// cover is the filter of c, which encrypts its bytes from the handshake on.
func (h *handshakeHandler) cover(c *core.Conn) *core.Filter {
	if f := c.Filter(); f != nil {
		return f
	}
	f := &core.Filter{Conn: c, Handler: h}
	f.Session.Init((*core.TLSOwner)(f), h.cfg, h.client)
	c.SetFilter(f)
	c.Reading.Become(0) // the handler must not see the bytes as received
	return f
}

// OnOpen implements Handler.
func (h *handshakeHandler) OnOpen(u *Conn) error {
	c := &u.core
	known := c.Filter()
	if known != nil && known.Session.Begun() {
		return errTwice
	}
	f := h.cover(c)
	f.BeginHandshake()
	if len(c.Out.Queued) > 0 && known == nil { // somebody was early
		f.Keep(core.Command{Kind: core.CmdSend, Data: c.Out.Queued})
		c.Out.Queued = nil
	}
	if h.timeout > 0 {
		if err := c.SetReadDeadline(c.Now().Add(h.timeout)); err != nil {
			return err
		}
	}
	if s, ok := socketOf(h.inner); ok && !s.streams {
		return core.ErrOverSocket
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
func (h *handshakeHandler) OnData(u *Conn) error {
	c := &u.core
	f := c.Filter()
	begun := f.Session.Begun()
	if !begun && !tlsmem.Whole(c.In.Unread) {
		return nil
	}
	p, _ := c.Next(-1)
	if f.Session.Feed(p) {
		_ = c.PauseRead()
	}
	if !begun {
		h.shake(c, f)
		if c.Is(core.Drained) { // in time: it may go on
			c.Extras.Clock.Set(deadlines.Read, c.Group.Runtime.Now()+DrainHandshake)
		}
	}
	return nil
}

// handshakesPerWorker is TLSConfig.MaxHandshakes for each worker.
const handshakesPerWorker = 256

func (h *handshakeHandler) shake(c *core.Conn, f *core.Filter) {
	c.Group.WatchEnd()
	f.Session.Begin(c.LocalAddr(), h.sem, cmp.Or(h.limit, handshakesPerWorker*c.Group.Runtime.Workers()))
}

// OnEOF implements Handler. The peer may have sent all of its part.
func (h *handshakeHandler) OnEOF(u *Conn) error {
	c := &u.core
	f := c.Filter()
	if !f.Session.Begun() {
		return c.OpError("handshake", io.ErrUnexpectedEOF)
	}
	f.Session.End(io.EOF)
	return nil
}

// Within implements core.Handshake.
func (h *handshakeHandler) Within() any { return h.inner }

// Refused implements core.Handshake.
func (h *handshakeHandler) Refused(c *core.Conn, err error) {
	var no tls.RecordHeaderError
	if h.reply != nil && errors.As(err, &no) && no.Conn != nil { // nothing was sent to it
		core.Enqueue(c, h.reply(no.RecordHeader))
	}
	c.Conclude(c.OpError("handshake", err))
}

// OnWritable implements Handler.
func (*handshakeHandler) OnWritable(*Conn) error { return nil }

// OnDeadline implements Handler.
func (h *handshakeHandler) OnDeadline(u *Conn) error {
	c := &u.core
	err := c.OpError("handshake", os.ErrDeadlineExceeded)
	c.Filter().Session.GiveUp(err)
	return err
}

// DrainHandshake bounds a handshake that is under way, or begins, when a server begins to shut
// down. A handshake without any byte of its client yet is given a quarter of that to begin.
const DrainHandshake = time.Second

// OnDrain implements Handler. The handshake of an accepted connection may end while there is a
// server to answer the request that follows. Then OnDrain of the handler within TLS is called. Once
// dialed connections are drained as well, there is no such server.
func (h *handshakeHandler) OnDrain(u *Conn) {
	c := &u.core
	if !c.Is(core.Outbound) && !c.Group.Draining(true) {
		patience := DrainHandshake
		if !c.Filter().Session.Begun() && len(c.In.Unread) == 0 {
			patience /= 4
		}
		k := &c.Extras.Clock
		if by, at := c.Group.Runtime.Now()+patience, k.At(deadlines.Read); at == 0 || by < at {
			k.Set(deadlines.Read, by)
		}
		return
	}
	c.Filter().Session.GiveUp(c.OpError("handshake", net.ErrClosed))
	_ = c.Close()
}

// OnClose implements Handler: the handshake is not complete.
func (h *handshakeHandler) OnClose(u *Conn, err error) {
	c := &u.core
	if err == nil {
		err = c.OpError("handshake", net.ErrClosed)
	}
	if f := c.Filter(); f != nil {
		f.Session.GiveUp(err)
		f.EndHandshake(err)
	}
	if !h.client {
		c.Group.Config.Logger.Info("conn: TLS handshake failed", "remote", c.RemoteAddr(), "error", err)
	}
	h.inner.OnClose(u, err)
}

// Abandoned implements core.Consumer.
func (h *handshakeHandler) Abandoned(c *core.Conn, _ error) {
	if f := c.Filter(); f != nil {
		f.Session.GiveUp(c.NeverOpened()) // else its goroutine would wait for ever
	}
	if k, ok := h.inner.(core.Consumer); ok {
		k.Abandoned(c, c.NeverOpened())
	} else {
		abandonUsers(h.inner, c.NeverOpened())
	}
}

// UsersName implements core.StandIn.
func (h *handshakeHandler) UsersName() string { return core.NameOf(h.inner) }
