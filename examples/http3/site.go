package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/suiro-go/suiro/server"
)

// A site is one set of pages, served over TCP and UDP.
type site struct {
	addr, backend string
	workers       int
	maxBody       int64
	patience      time.Duration // of the shutdown
	certificate   tls.Certificate
	listening     func(net.Addr)
}

// maxStreams is how many requests a connection may have at a time.
const maxStreams = 1000

// run serves until ctx ends, and then until requests in progress have ended, at most for patience.
//
// The order of the shutdown: 1 HTTP/3 clients get GOAWAY, and their requests end; 2 the UDP socket
// closes; 3 the TCP server shuts down in the same way. A client whose HTTP/3 connection has ended
// can still ask over TCP until then.
func (s *site) run(ctx context.Context) error {
	over := &http3.Server{
		TLSConfig:  &tls.Config{Certificates: []tls.Certificate{s.certificate}},
		QUICConfig: &quic.Config{MaxIncomingStreams: maxStreams, Allow0RTT: true},
	}
	listening := make(chan net.Addr, 1)
	of := &server.Server{
		Addr:            s.addr,
		Backend:         s.backend,
		Workers:         s.workers,
		TLS:             &tls.Config{Certificates: []tls.Certificate{s.certificate}},
		ShutdownTimeout: s.patience,
		Listening:       func(addr net.Addr) { listening <- addr },
	}
	h := &pages{of: of, maxBody: s.maxBody}
	over.Handler = h
	of.Handler = server.HTTPServer(&http.Server{
		Handler:           announce(over, h),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       5 * time.Minute,
	})

	results := make(chan error, 2)
	go func() { results <- of.ListenAndServe() }()
	var addr net.Addr
	select {
	case err := <-results:
		return err
	case addr = <-listening:
	}
	socket, err := of.ListenPacket("udp", addr.String())
	if err != nil {
		return errors.Join(err, of.Close(), ended(<-results))
	}
	go func() { results <- over.Serve(socket) }()
	s.listening(addr)

	var errs []error
	left := 2
	select {
	case err := <-results:
		errs = append(errs, ended(err))
		left--
	case <-ctx.Done():
	}
	errs = append(errs, s.shutdown(over, socket, of))
	for range left {
		errs = append(errs, ended(<-results))
	}
	return errors.Join(errs...)
}

// shutdown ends both servers in order.
func (s *site) shutdown(over *http3.Server, socket net.PacketConn, of *server.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	err := over.Shutdown(ctx)
	return errors.Join(err, over.Close(), socket.Close(), of.Shutdown(ctx))
}

// ended is the error of a server, or nil if it has ended in order.
func ended(err error) error {
	if errors.Is(err, server.ErrServerClosed) || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// announce adds Alt-Svc to all answers: HTTP/3 is on the UDP port of the same number.
func announce(over *http3.Server, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = over.SetQUICHeaders(w.Header()) // during the shutdown there is nothing to announce
		h.ServeHTTP(w, r)
	})
}
