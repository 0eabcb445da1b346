package server

import (
	"cmp"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// HTTP is a Handler that serves HTTP by h, with net/http's own server. nil: http.DefaultServeMux.
// It is HTTPServer of an http.Server with no other field set.
func HTTP(h http.Handler) Handler { return HTTPServer(&http.Server{Handler: h}) }

// HTTPServer is a Handler that serves HTTP with srv. Requests, and connections with a request in
// progress, are served as over a net.Listener. The workers hold a connection that waits for its
// next request. It then costs no goroutine and no buffer, only as much as an idle Conn. A
// connection stays with its goroutine for up to 200 ms between two requests, which is cheaper. If
// more than a thousand connections do so, it is 20 ms.
//
// srv belongs to the Server from then on. Its ConnState is replaced, and the replacement calls it.
// Its ConnContext and Handler may be replaced. Do not call Serve, Shutdown or Close of srv:
// Shutdown of the Server ends it. That does what srv's Shutdown does, calls the functions of
// RegisterOnShutdown, and also waits for hijacked connections. A second http.Server, with srv's
// fields, serves a request that begins after that, and closes the connection with the answer. An
// HTTP/2 request has the second one as its http.ServerContextKey.
//
// A Handler of HTTP or HTTPServer is for one Server. If two Servers have the same one, Shutdown of
// either stops it for both: make one for each.
//
// With Server.TLS it serves HTTPS. An idle connection then costs what an idle Conn with TLS costs.
// ALPN offers the protocols of srv.Protocols, by default HTTP/2 too. An HTTP/2 connection stays
// with net/http and its goroutines from the handshake to its end.
//
// Differences from srv over package net's connections:
//
//   - The connections that Hijack returns and that ConnContext gets are neither *net.TCPConn nor
//     *Socket, but have the methods of *Socket. With TLS they are no *tls.Conn, but have its
//     methods.
//   - ConnContext is called each time a connection leaves the workers, not once per connection.
//   - ConnState gets the same states of each connection in the same order. Where no request is in
//     progress a worker calls it, so it must not block. It gets no state of a connection before the
//     TLS handshake is complete. Its net.Conn is good for addresses, Close, and as a key. With
//     ConnState an idle connection costs some hundred bytes more.
//   - SetKeepAlivesEnabled(false) closes idle connections soon after it has returned. It leaves
//     connections open that have had no request.
//   - Empty lines before a request are skipped after any request, not only after a POST.
//   - Server.Addr and TLSConfig of srv have no effect. A TLSConfig with certificates is an error if
//     Server.TLS is nil. Server.HandshakeTimeout bounds a handshake, and Server.Logger gets the
//     failed ones.
//
// A Server with this Handler has, by default, fewer workers: see Listen.
func HTTPServer(srv *http.Server) Handler {
	h := &httpHandler{srv: srv, states: srv.ConnState, linger: httpLinger, grace: httpGrace, http2: srv.Protocols != nil && srv.Protocols.UnencryptedHTTP2()}
	srv.ConnState = h.connState
	h.hadOne = &httpIdle{h: h}
	h.told = make(chan struct{})
	h.before.init()
	h.after.init()
	return h
}

// httpLinger is how long a connection stays with its goroutine after a request, while no more than
// httpLingering connections do. Above that number it is a tenth. To leave net/http and come back
// costs about half of a small request.
const (
	httpLinger    = 200 * time.Millisecond
	httpLingering = 1000
)

// An httpHandler is the handler of the connections on which no request is in progress.
type httpHandler struct {
	srv    *http.Server
	states func(net.Conn, http.ConnState) // nil: srv has no ConnState
	http2  bool                           // a connection may turn out to speak HTTP/2

	linger    time.Duration // httpLinger
	lingering atomic.Int64  // connections

	ready    sync.Once
	before   httpServing // srv
	after    httpServing // serves requests that begin when the server stops
	watch    atomic.Pointer[httpSentry]
	hadOne   *httpIdle // shared by all connections that have had a request, without ConnState
	stopping atomic.Bool
	told     chan struct{} // closed once the functions of RegisterOnShutdown have been started
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

// An httpIdle describes a connection between requests. It is the connection's Value. nil: a
// connection that has had no request, without a time limit and without ConnState.
type httpIdle struct {
	h      *httpHandler
	opened time.Time    // zero: it has had a request
	state  *httpWatched // the connection as ConnState knows it; nil: there is no ConnState
}

func idleOf(c *Conn) httpIdle {
	if v, ok := c.Value().(*httpIdle); ok {
		return *v
	}
	return httpIdle{}
}

// headerTimeout follows http.Server's own rule.
func (h *httpHandler) headerTimeout() time.Duration {
	return cmp.Or(h.srv.ReadHeaderTimeout, h.srv.ReadTimeout)
}

// OnOpen starts the time limit of the first request's header, as net/http does. A connection that
// does not speak HTTP/1 goes to net/http at once.
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

// OnData passes the connection to net/http with the first bytes of a request. For a request after
// the first, net/http starts the time limit of the header only after four bytes, and applies the
// idle time-out until then. OnData does so too.
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

// skipEmptyLines skips empty lines, as http.Server does after a POST: old clients send one line
// more than the body.
func skipEmptyLines(c *Conn) {
	p, _ := c.Peek(min(4, c.Buffered()))
	n := 0
	for n < len(p) && (p[n] == '\r' || p[n] == '\n') {
		n++
	}
	_, _ = c.Discard(n) // that many are buffered
}

// begin passes the connection to net/http.
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

// lend makes a net.Conn of the connection, for net/http.
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

// OnEOF closes a connection whose client went away between requests. If the client went away within
// the first bytes of its first request, net/http has an answer to that.
func (h *httpHandler) OnEOF(c *Conn) error {
	if c.Buffered() > 0 && h.first(c) {
		return h.begin(c)
	}
	return c.Close()
}

// OnDeadline closes a connection whose client was silent for too long. Nothing is sent.
func (h *httpHandler) OnDeadline(c *Conn) error {
	if h.stopping.Load() && c.Buffered() == 0 && !c.Fresh() { // received bytes are about to be read
		return h.endIdle(c)
	}
	return c.Close()
}

// OnWritable implements Handler.
func (h *httpHandler) OnWritable(*Conn) error { return nil }

// OnClose reports the end to ConnState. While net/http has the connection, net/http reports it.
func (h *httpHandler) OnClose(c *Conn, _ error) {
	if c.Lent() {
		return
	}
	if w := idleOf(c).state; w != nil {
		w.tell(h.states, http.StateClosed)
	}
}
