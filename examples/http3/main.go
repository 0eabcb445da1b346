// Http3 serves pages over HTTP/3 by quic-go, and over HTTP/2 and HTTP/1.1, all on Suiro's workers.
//
//	go run . [-addr 127.0.0.1:8443] [-backend io_uring|epoll] [-workers N]
//		[-cert FILE -key FILE]
//
// The UDP port has the number of the TCP port. Answers over TCP name it in their Alt-Svc header, so
// that clients change to HTTP/3 if UDP reaches the server.
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "http3:", err)
		os.Exit(1)
	}
}

func serve() error {
	s := &site{listening: func(addr net.Addr) { fmt.Println("listening on", addr, "(TCP and UDP)") }}
	flag.StringVar(&s.addr, "addr", "127.0.0.1:8443", "`host:port` to listen on; port 0 is any free one")
	flag.StringVar(&s.backend, "backend", "", "io_uring or epoll (default: epoll)")
	flag.IntVar(&s.workers, "workers", 0, "number of workers (default: one per processor)")
	flag.Int64Var(&s.maxBody, "max-body", 8<<20, "largest body in `bytes`")
	flag.DurationVar(&s.patience, "shutdown-timeout", 8*time.Second, "how long requests may take after a signal")
	cert := flag.String("cert", "", "`file` with a certificate in PEM (default: one made for this run)")
	key := flag.String("key", "", "`file` with its key")
	flag.Parse()
	var err error
	if *cert != "" {
		s.certificate, err = tls.LoadX509KeyPair(*cert, *key)
	} else {
		s.certificate, err = selfSigned()
	}
	if err != nil {
		return err
	}
	// Not server.Run: at a signal it calls Server.Shutdown, which closes the UDP socket. HTTP/3
	// requests must end before that.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return s.run(ctx)
}
