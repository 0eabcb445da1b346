package server

import (
	"context"
	"net"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/background"
)

// An httpServing is an http.Server and the connections that it gets. There are two. The first has
// the user's http.Server and serves until the server stops. Then its Shutdown calls the functions
// of RegisterOnShutdown at once, and from then on drops each request whose header it has just read.
// So the second one serves requests that begin later. It has the same settings, and stops when no
// request can be under way any more.
type httpServing struct {
	srv    *http.Server
	begun  sync.Once
	group  *conn.Group // of the connections; begun makes it fixed
	feed   httpFeed
	unread atomic.Int64 // connections that net/http has or is about to get, without a whole header
	none   chan bool    // has an entry when that falls to 0
}

func (s *httpServing) init() {
	s.feed.ready = make(chan struct{}, 1)
	s.feed.closed = make(chan struct{})
	s.none = make(chan bool, 1)
}

// headerRead is called for a connection that was counted in unread.
func (s *httpServing) headerRead() {
	if s.unread.Add(-1) > 0 {
		return
	}
	select {
	case s.none <- true:
	default:
	}
}

// serve starts srv, which accepts the connections of feed. c is the first connection.
func (s *httpServing) serve(h *httpHandler, c *Conn) {
	s.begun.Do(func() {
		s.group = c.Group()
		s.feed.addr, s.feed.over = c.LocalAddr(), s.group.Runtime().Done()
		background.Go(func() { // its goroutines have those of this one: no labels
			_ = s.srv.Serve(&s.feed) // until feed ends
			_ = s.feed.Close()       // if net/http has refused to begin
			if w := h.watch.Load(); w != nil && s == &h.before {
				w.end()
			}
		})
	})
}

// prepare is called before either http.Server is used: net/http reads srv from then on.
func (h *httpHandler) prepare() {
	h.ready.Do(func() {
		h.after.srv = twin(h.srv)
		h.hide()
		h.before.srv = h.srv
	})
}

// serving returns the httpServing for a connection. The connection is counted before serving looks
// whether the server stops: either stop waits for it, or serving sees that the server stops.
func (h *httpHandler) serving(c *httpStay) *httpServing {
	for _, s := range []*httpServing{&h.before, &h.after} {
		c.at = s
		if c.conn != nil {
			c.unread.Store(true)
			s.unread.Add(1)
		}
		if s == &h.after || !h.stopping.Load() {
			break
		}
		c.headerRead()
	}
	return c.at
}

// late returns the httpServing for a connection that does not speak HTTP/1. Such a connection is
// not counted: the server may have stopped meanwhile.
func (h *httpHandler) late(c *Conn) *httpServing {
	h.after.serve(h, c)
	return &h.after
}

// twin returns an http.Server with the settings of srv that closes each connection with its first
// answer.
func twin(srv *http.Server) *http.Server {
	t := new(http.Server)
	from, to := reflect.ValueOf(srv).Elem(), reflect.ValueOf(t).Elem()
	for i := range from.NumField() {
		if from.Type().Field(i).IsExported() {
			to.Field(i).Set(from.Field(i))
		}
	}
	if t.TLSConfig != nil {
		t.TLSConfig = t.TLSConfig.Clone() // net/http adds to it
	}
	t.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		ctx = context.WithValue(ctx, http.ServerContextKey, srv)
		if srv.ConnContext != nil {
			ctx = srv.ConnContext(ctx, c)
		}
		return ctx
	}
	t.SetKeepAlivesEnabled(false)
	return t
}
