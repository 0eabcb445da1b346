package hook

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/suiro-go/suiro/server"
)

// A listener is what ListenHTTP returns: package net's, which a Server takes over once
// http.Server.Serve is called with it, so that Close has to tell that one, too.
type listener struct {
	net.Listener
	mu     sync.Mutex
	by     *served // nil: nobody serves it
	closed bool
}

// A served is an http.Server on Suiro.
type served struct {
	server server.Server
	ending atomic.Bool // later calls come from server.HTTPServer
}

var serving sync.Map // *http.Server to *served

// ListenHTTP is net.ListenConfig.Listen, for what Serve may be called with.
func ListenHTTP(lc *net.ListenConfig, network, address string) (net.Listener, error, bool) {
	if !isStream(network) || lc.Control != nil {
		return nil, nil, false
	}
	own := *lc
	own.Control = func(string, string, syscall.RawConn) error { return nil } // this function does not know it again
	ln, err := own.Listen(context.Background(), network, address)
	if err != nil {
		return nil, err, true
	}
	return &listener{Listener: ln}, nil, true
}

// Close ends the Server as well, since that cannot stop accepting alone: connections without
// a request are closed, as httptest.Server does after it.
func (l *listener) Close() error {
	l.mu.Lock()
	by := l.by
	l.closed = true
	l.mu.Unlock()
	if by != nil && !by.ending.Swap(true) {
		go func() { _ = by.server.Shutdown(context.Background()) }()
	}
	return l.Listener.Close()
}

// Serve is http.Server.Serve.
func Serve(srv *http.Server, l net.Listener) (error, bool) {
	ln, cfg := within(l)
	if ln == nil {
		return nil, false
	}
	if cfg != nil && srv.Protocols == nil { // what l offers is what http.Server would be asked for
		p := new(http.Protocols)
		p.SetHTTP1(!slices.Equal(cfg.NextProtos, []string{"h2"}))
		p.SetHTTP2(slices.Contains(cfg.NextProtos, "h2"))
		srv.Protocols = p
	}
	s, known := serving.LoadOrStore(srv, new(served))
	by := s.(*served)
	if by.ending.Load() {
		return nil, false // net/http knows what to say
	}
	if !known {
		by.server.Handler = server.HTTPServer(srv)
		by.server.TLS = cfg
	}
	ln.mu.Lock()
	if ln.closed {
		ln.mu.Unlock()
		return nil, false
	}
	ln.by = by
	ln.mu.Unlock()
	err := by.server.Serve(ln.Listener)
	if err == server.ErrServerClosed {
		err = http.ErrServerClosed
	}
	return err, true
}

// within is the listener of ListenHTTP that l is, or that is within l, with the configuration
// if l is one of tls.NewListener; else nil.
func within(l net.Listener) (*listener, *tls.Config) {
	if ln, ok := l.(*listener); ok {
		return ln, nil
	}
	v := reflect.ValueOf(l)
	if v.Type().String() != "*tls.listener" {
		return nil, nil
	}
	ln, _ := v.Elem().FieldByName("Listener").Interface().(*listener)
	return ln, (*tls.Config)(v.Elem().FieldByName("config").UnsafePointer())
}

// End is http.Server.Shutdown, or Close if ctx is nil.
func End(srv *http.Server, ctx context.Context) (error, bool) {
	s, ok := serving.Load(srv)
	if !ok || s.(*served).ending.Swap(true) {
		return nil, false
	}
	by := s.(*served)
	if ctx == nil {
		_ = by.server.Close()
		return nil, false // and then what net/http has of it
	}
	return by.server.Shutdown(ctx), true
}
