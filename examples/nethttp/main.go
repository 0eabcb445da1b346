// Nethttp serves a net/http handler on Suiro's workers: connections that wait for their
// next request cost no goroutine.
//
//	go run ./examples/nethttp [-addr 127.0.0.1:8080] [-backend io_uring|epoll]
//		[-cert FILE -key FILE] [-admin 127.0.0.1:9090]
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/suiro-go/suiro/examples/internal/app"
	"github.com/suiro-go/suiro/server"
)

func handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "Hello, World!") })
	mux.HandleFunc("GET /count", func(w http.ResponseWriter, r *http.Request) { // until the client has had enough
		rc := http.NewResponseController(w)
		for i := 0; ; i++ {
			_, _ = fmt.Fprintln(w, i)
			if rc.Flush() != nil {
				return
			}
			select {
			case <-r.Context().Done():
				return
			case <-time.After(time.Second):
			}
		}
	})
	return mux
}

func main() {
	s := &server.Server{
		Handler: server.HTTPServer(&http.Server{
			Handler:           handler(),
			ReadHeaderTimeout: 10 * time.Second,
			IdleTimeout:       5 * time.Minute,
		}),
		Listening: func(addr net.Addr) { fmt.Println("listening on", addr) },
	}
	flag.StringVar(&s.Addr, "addr", "127.0.0.1:8080", "`host:port` to listen on, port 0 being any free one")
	flag.StringVar(&s.Backend, "backend", "", "io_uring or epoll (default: epoll)")
	cert := flag.String("cert", "", "`file` with a certificate in PEM: then it is HTTPS, and HTTP/2")
	key := flag.String("key", "", "`file` with its key")
	app.AdminFlag()
	flag.Parse()
	if *cert != "" {
		pair, err := tls.LoadX509KeyPair(*cert, *key)
		if err != nil {
			fmt.Fprintln(os.Stderr, "nethttp:", err)
			os.Exit(1)
		}
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	}
	app.Main("nethttp", s)
}
