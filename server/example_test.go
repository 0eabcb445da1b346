package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// net/http serves on the runtime's sockets as on package net's.
func ExampleListen() {
	ln, err := server.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	hs := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(ln) }()

	r, err := http.Get("http://" + ln.Addr().String())
	if err != nil {
		panic(err)
	}
	p, _ := io.ReadAll(r.Body)
	_ = r.Body.Close()
	fmt.Println(string(p))

	http.DefaultClient.CloseIdleConnections()
	_ = hs.Shutdown(context.Background())
	fmt.Println(<-served)
	// Output:
	// hello
	// http: Server closed
}

// A Server configures what Listen does.
func ExampleServer_Listen() {
	s := &server.Server{Workers: 2}
	ln, err := s.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		name, _ := bufio.NewReader(c).ReadString('\n')
		fmt.Fprint(c, "hello ", name)
	}()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(c, "gopher")
	p, _ := io.ReadAll(c)
	fmt.Print(string(p))
	_ = c.Close()
	_ = s.Close()
	// Output: hello gopher
}

// A sequential handler within TLS: what it reads and writes is plaintext.
func ExampleServer_tLS() {
	ts := httptest.NewUnstartedServer(nil) // for its certificate
	ts.StartTLS()
	defer ts.Close()

	listening := make(chan net.Addr, 1)
	s := &server.Server{
		Addr: "127.0.0.1:0",
		TLS:  &tls.Config{Certificates: ts.TLS.Certificates},
		Handler: server.Sequential(func(_ *sched.Context, s *server.Stream) error {
			_, err := fmt.Fprintf(s, "hello, this is %s\n", tls.VersionName(s.TLS().Version))
			return err
		}),
		Listening: func(a net.Addr) { listening <- a },
	}
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()

	pool := x509.NewCertPool()
	pool.AddCert(ts.Certificate())
	c, err := tls.Dial("tcp", (<-listening).String(), &tls.Config{RootCAs: pool})
	if err != nil {
		panic(err)
	}
	p, _ := io.ReadAll(c) // to close-notify
	fmt.Print(string(p))
	_ = c.Close()
	_ = s.Close()
	fmt.Println(<-served)
	// Output:
	// hello, this is TLS 1.3
	// server: closed by Shutdown or Close
}
