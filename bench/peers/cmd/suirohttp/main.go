// Command suirohttp is the plaintext server on net/http, with Suiro's workers below it: see
// cmd/nethttp.
package main

import (
	"flag"
	"io"
	"log"
	"net"
	"net/http"

	"github.com/suiro-go/suiro/server"

	"github.com/suiro-go/suiro/bench/peers/internal/peer"
)

func main() {
	backend := flag.String("backend", "", "io_uring or epoll")
	o := peer.HTTPOnly()
	mux := http.NewServeMux()
	mux.HandleFunc("/plaintext", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Server"] = []string{"x"}
		w.Header()["Content-Type"] = []string{"text/plain"}
		io.WriteString(w, "Hello, World!")
	})
	s := &server.Server{
		Addr:      o.Addr,
		Handler:   server.HTTP(mux),
		Backend:   *backend,
		Listening: func(addr net.Addr) { peer.Ready(addr.String()) },
	}
	go func() { log.Fatal(s.ListenAndServe()) }()
	peer.Wait()
}
