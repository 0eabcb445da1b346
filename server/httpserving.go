package server

import (
	"context"
	"net"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/conn"
)

// An httpServing is an http.Server and the connections that it is given. There are two. One
// is the user's, until the server stops: its Shutdown then calls what RegisterOnShutdown has,
// at once, and from then on it drops each request whose header it has just read. So what
// begins later is the other's, which has the same settings and stops when nothing can be
// under way any more.
type httpServing struct {
	srv    *http.Server
	begun  sync.Once
	group  *conn.Group // of the connections; fixed with begun
	feed   httpFeed
	unread atomic.Int64 // connections that net/http has, or is about to have, without a whole header
	none   chan bool    // has an entry when that falls to 0
}

func (s *httpServing) init() {
	s.feed.ready = make(chan struct{}, 1)
	s.feed.closed = make(chan struct{})
	s.none = make(chan bool, 1)
}

// headerRead is for one that was counted in unread.
func (s *httpServing) headerRead() {
	if s.unread.Add(-1) > 0 {
		return
	}
	select {
	case s.none <- true:
	default:
	}
}

// serve has srv accept what feed is given. c is the first connection.
func (s *httpServing) serve(h *httpHandler, c *Conn) {
	s.begun.Do(func() {
		s.group = c.Group()
		s.feed.addr, s.feed.over = c.LocalAddr(), s.group.Runtime().Done()
		go func() {
			_ = s.srv.Serve(&s.feed) // until feed ends
			_ = s.feed.Close()       // if net/http has refused to begin
			if w := h.watch.Load(); w != nil && s == &h.before {
				w.end()
			}
		}()
	})
}

// prepare is called before either is used: net/http reads srv from then on.
func (h *httpHandler) prepare() {
	h.ready.Do(func() {
		h.after.srv = twin(h.srv)
		h.hide()
		h.before.srv = h.srv
	})
}

// serving is where a connection goes. One that is counted before it looks is waited for by
// stop, or sees that the server stops.
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

// late is for what is not HTTP/1, which nobody counts: the server may have stopped meanwhile.
func (h *httpHandler) late(c *Conn) *httpServing {
	h.after.serve(h, c)
	return &h.after
}

// twin is an http.Server with what a user has set in srv, whose answers are each the last one
// of their connection.
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
