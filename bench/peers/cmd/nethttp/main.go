// Command nethttp is the plaintext server on net/http.
package main

import (
	"io"
	"net/http"

	"github.com/suiro-go/suiro/bench/peers/internal/peer"
)

func main() {
	o := peer.HTTPOnly()
	mux := http.NewServeMux()
	mux.HandleFunc("/plaintext", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Server"] = []string{"x"}
		w.Header()["Content-Type"] = []string{"text/plain"}
		io.WriteString(w, "Hello, World!")
	})
	ln := peer.Listen(o.Addr)
	peer.Serve(ln.Addr().String(), func() error { return http.Serve(ln, mux) })
}
