package admin_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/suiro-go/suiro/admin"
	"github.com/suiro-go/suiro/server"
)

// Operators' systems ask an address of its own. Package net serves it, so it answers also while
// all workers are stuck.
func ExampleHandler() {
	listening := make(chan net.Addr, 1)
	s := &server.Server{Addr: "127.0.0.1:0", Handler: patient{}, Listening: func(a net.Addr) { listening <- a }}
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()
	<-listening

	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	operators := &http.Server{Handler: admin.Handler(s)}
	go func() { _ = operators.Serve(ln) }()
	res, err := http.Get("http://" + ln.Addr().String() + "/readyz")
	if err != nil {
		log.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d: %s", res.StatusCode, text)

	http.DefaultClient.CloseIdleConnections()
	_ = operators.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	<-served
	// Output: 200: ready
}
