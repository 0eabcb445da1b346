package server

import (
	"cmp"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// HTTP is a Handler that serves HTTP by h, with net/http's own server; nil is
// http.DefaultServeMux. It is HTTPServer with nothing else set.
func HTTP(h http.Handler) Handler { return HTTPServer(&http.Server{Handler: h}) }

// HTTPServer is a Handler that serves HTTP with srv, which does all that it does over
// a net.Listener, for requests and for connections with one in progress. A connection
// that waits for its next request is the workers' alone: it costs no goroutine and no
// buffer, only what an idle Conn does. Between two requests that are less than 200 ms
// apart it stays with its goroutine, which is cheaper; 20 ms, if a thousand do.
//
// srv is the Server's from then on: its ConnState is replaced (and called by what
// replaces it), its ConnContext and Handler may be, and neither Serve nor Shutdown or Close
// of srv may be called. What ends it is the Server's Shutdown, which does what srv's does and
// calls what RegisterOnShutdown has; unlike that, it waits for hijacked connections too. A
// request that begins after that is served by a second http.Server with srv's fields, which
// closes the connection with the answer. A request of HTTP/2 has that one as its
// http.ServerContextKey.
//
// With Server.TLS it serves HTTPS: an idle connection then costs what an idle Conn with TLS
// does. ALPN offers what srv.Protocols says, which by default is HTTP/2, too. A connection
// that speaks that stays with net/http and its goroutines from the handshake to its end.
//
// What differs from srv over package net's connections:
//
//   - Handler's connections, as Hijack returns them, and ConnContext's are neither
//     *net.TCPConn nor the Socket itself, but have the methods of *Socket; nor *tls.Conn,
//     but have its methods.
//   - ConnContext is called whenever a connection leaves the workers, not once for each.
//   - ConnState is told the same states of each connection in the same order, by a
//     worker where no request is in progress: it must not block. It is told of no connection
//     before hands are shaken. Its net.Conn is good
//     for addresses, Close, and as a key. With ConnState an idle connection costs some
//     hundred bytes more.
//   - SetKeepAlivesEnabled(false) closes idle connections soon after it has returned, and
//     leaves those that have had no request.
//   - Empty lines before a request are skipped after any request, not only after a POST.
//   - Server.Addr and TLSConfig of srv mean nothing. How long a handshake may take says
//     Server.HandshakeTimeout, and failed ones are told to Server.Logger.
//
// A Server whose Handler this is has, by default, fewer workers: see Listen.
func HTTPServer(srv *http.Server) Handler {
	h := &httpHandler{srv: srv, states: srv.ConnState, linger: httpLinger, grace: httpGrace, http2: srv.Protocols != nil && srv.Protocols.UnencryptedHTTP2()}
	srv.ConnState = h.connState
	h.hadOne = &httpIdle{h: h}
	h.told = make(chan struct{})
	h.before.init()
	h.after.init()
	return h
}

// httpLinger is how long a connection stays with its goroutine after a request, as long
// as no more than httpLingering do; then it is a tenth of that. To leave it and come
// back costs about half of a small request.
const (
	httpLinger    = 200 * time.Millisecond
	httpLingering = 1000
)

// An httpHandler is the handler of the connections on which no request is in progress.
type httpHandler struct {
	srv    *http.Server
	states func(net.Conn, http.ConnState) // nil: nobody wants to know
	http2  bool                           // a connection may turn out to speak HTTP/2

	linger    time.Duration // httpLinger
	lingering atomic.Int64  // connections

	ready    sync.Once
	before   httpServing // srv
	after    httpServing // what begins when the server stops
	watch    atomic.Pointer[httpSentry]
	hadOne   *httpIdle // of a connection that has had a request, without ConnState
	stopping atomic.Bool
	told     chan struct{} // closed once srv's functions for Shutdown have been started
	grace    time.Duration // httpGrace

	configured bool // before a connection is accepted
	unasked    sync.Once
}

var _ Configurer = (*httpHandler)(nil)

// Configure implements Configurer.
func (h *httpHandler) Configure(n *Needs) {
	h.configured = true
	*n = Needs{Goroutines: true, TLS: h.overTLS, Shutdown: h.stop, Stopped: h.stopped}
}

// An httpIdle is what is known of a connection between requests, its Value: nil is one
// that has had none, which nobody waits for and nobody watches.
type httpIdle struct {
	h      *httpHandler
	opened time.Time    // zero: it has had a request
	state  *httpWatched // what ConnState is told of; nil: nothing
}

func idleOf(c *Conn) httpIdle {
	if v, ok := c.Value().(*httpIdle); ok {
		return *v
	}
	return httpIdle{}
}

// headerTimeout is http.Server's own rule.
func (h *httpHandler) headerTimeout() time.Duration {
	return cmp.Or(h.srv.ReadHeaderTimeout, h.srv.ReadTimeout)
}

// OnOpen has the time for the first request's header begin, as net/http has it. What is not
// HTTP/1 begins at once.
func (h *httpHandler) OnOpen(c *Conn) error {
	if !h.configured {
		h.unasked.Do(func() {
			c.Group().Logger().Warn("server: nobody asked HTTPServer's Handler for its Needs: HTTP/2 over TLS may be missing, and the workers are not those for it; give a Handler around it the method Unwrap")
		})
	}
	if tlsNextProto(c) {
		return h.begin(c)
	}
	d := h.headerTimeout()
	if d <= 0 && h.states == nil && !h.stopping.Load() {
		return nil
	}
	idle := &httpIdle{h: h, opened: time.Now()}
	if h.states != nil {
		idle.state = &httpWatched{handle: c.Handle(), states: h.states, local: c.LocalAddr(), remote: c.RemoteAddr()}
		idle.state.tell(h.states, http.StateNew)
	}
	c.SetValue(idle)
	switch {
	case h.stopping.Load():
		return h.endIdle(c)
	case d <= 0:
		return nil
	}
	return c.SetReadDeadline(idle.opened.Add(d))
}

// OnData begins a request. Of one that is not the first net/http wants four bytes before
// the time for its header begins, with the idle time-out until then; the same here.
func (h *httpHandler) OnData(c *Conn) error {
	if !h.first(c) {
		skipEmptyLines(c)
		if c.Buffered() < 4 {
			return nil
		}
	}
	return h.begin(c)
}

func (h *httpHandler) first(c *Conn) bool { return c.Value() == nil || !idleOf(c).opened.IsZero() }

// skipEmptyLines skips what http.Server does after a POST: old clients send a line more
// than its body.
func skipEmptyLines(c *Conn) {
	p, _ := c.Peek(min(4, c.Buffered()))
	n := 0
	for n < len(p) && (p[n] == '\r' || p[n] == '\n') {
		n++
	}
	_, _ = c.Discard(n) // there are as many
}

// begin gives the connection to net/http.
func (h *httpHandler) begin(c *Conn) error {
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	fed := h.lend(c)
	if fed.Conn == nil {
		return net.ErrClosed
	}
	idle, stay := idleOf(c), fed.stay
	stay.h, stay.watched = h, idle.state
	if !idle.opened.IsZero() {
		stay.late = time.Since(idle.opened)
	}
	h.prepare()
	to := h.serving(stay)
	to.serve(h, c)
	switch {
	case stay.watched != nil && !stay.watched.lend(stay):
		stay.refuse()
	case to.feed.put(fed):
	case stay.conn == nil && to == &h.before && h.stopping.Load() && h.late(c).feed.put(fed):
	default:
		stay.refuse()
	}
	return nil
}

// lend makes it what net/http serves.
func (h *httpHandler) lend(c *Conn) httpFed {
	if c.TLS() != nil {
		return h.lendTLS(c)
	}
	s := c.Lend()
	if s == nil {
		return httpFed{}
	}
	hc := &httpConn{Socket: s}
	hc.socket, hc.conn, hc.mayBeHTTP2 = s, s, h.http2 && h.first(c)
	return httpFed{hc, &hc.httpStay}
}

// OnEOF is a client that goes away between requests, or one that goes away within the
// first bytes of its first, which net/http has an answer to.
func (h *httpHandler) OnEOF(c *Conn) error {
	if c.Buffered() > 0 && h.first(c) {
		return h.begin(c)
	}
	return c.Close()
}

// OnDeadline is a client that has said nothing for too long. It is told nothing.
func (h *httpHandler) OnDeadline(c *Conn) error {
	if h.stopping.Load() && c.Buffered() == 0 && !c.Fresh() { // what it has said is about to be seen
		return h.endIdle(c)
	}
	return c.Close()
}

// OnWritable implements Handler.
func (h *httpHandler) OnWritable(*Conn) error { return nil }

// OnClose tells ConnState. Of a connection that is lent it is net/http that does.
func (h *httpHandler) OnClose(c *Conn, _ error) {
	if c.Lent() {
		return
	}
	if w := idleOf(c).state; w != nil {
		w.tell(h.states, http.StateClosed)
	}
}
