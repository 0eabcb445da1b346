package app

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/suiro-go/suiro/admin"
	"github.com/suiro-go/suiro/console"
	"github.com/suiro-go/suiro/server"
)

var adminAddr *string

// AdminFlag registers -admin. Main then serves the console of its server there, and /metrics,
// /healthz, /readyz and /dump.
func AdminFlag() {
	adminAddr = flag.String("admin", "", "`host:port` for the console, /metrics, /healthz, /readyz and /dump, such as 127.0.0.1:9090 (default: nowhere)")
}

// serveAdmin serves the pages for operators, by package net/http: they answer also while the
// workers are stuck. The result ends that.
func serveAdmin(s *server.Server) (end func(), err error) {
	if adminAddr == nil || *adminAddr == "" {
		return func() {}, nil
	}
	ln, err := net.Listen("tcp", *adminAddr)
	if err != nil {
		return nil, err
	}
	fmt.Printf("admin on http://%v/\n", ln.Addr())
	mux := admin.Handler(s)
	mux.Handle("/", console.Handler(s, nil))
	h := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = h.Serve(ln) }() // ErrServerClosed
	return func() { _ = h.Close() }, nil
}
