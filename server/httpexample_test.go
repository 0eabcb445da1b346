package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/suiro-go/suiro/server"
)

func ExampleHTTP() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello/{name}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello, %s", r.PathValue("name"))
	})
	listening := make(chan net.Addr, 1)
	s := &server.Server{
		Addr:      "127.0.0.1:0",
		Handler:   server.HTTP(mux),
		Listening: func(a net.Addr) { listening <- a },
	}
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()

	r, err := http.Get("http://" + (<-listening).String() + "/hello/world")
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	fmt.Println(r.Status, string(p), err)

	fmt.Println(s.Shutdown(context.Background()))
	fmt.Println(<-served)
	// Output:
	// 200 OK hello, world <nil>
	// <nil>
	// server: closed by Shutdown or Close
}

// The fields of http.Server work as usual.
func ExampleHTTPServer() {
	hs := &http.Server{
		Handler:           http.NotFoundHandler(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       5 * time.Minute,
		MaxHeaderBytes:    1 << 16,
	}
	s := &server.Server{Addr: "127.0.0.1:0", Handler: server.HTTPServer(hs)}
	s.Listening = func(net.Addr) { go func() { _ = s.Shutdown(context.Background()) }() }
	fmt.Println(s.ListenAndServe())
	// Output: server: closed by Shutdown or Close
}
