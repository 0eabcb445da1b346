package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/suiro-go/suiro/server"
)

// announced is a middleware: it prints when connections of a handler begin and end.
type announced struct{ server.Handler }

// Unwrap lets the server find the settings that the handler needs.
func (h announced) Unwrap() server.Handler { return h.Handler }

func (h announced) OnOpen(c *server.Conn) error {
	fmt.Println("open")
	return h.Handler.OnOpen(c)
}

func (h announced) OnClose(c *server.Conn, err error) {
	fmt.Println("close")
	h.Handler.OnClose(c, err)
}

func ExampleWrapper() {
	site := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	addr := make(chan net.Addr, 1)
	s := &server.Server{
		Addr:      "127.0.0.1:0",
		Handler:   announced{server.HTTP(site)},
		Listening: func(a net.Addr) { addr <- a },
	}
	go func() { _ = s.ListenAndServe() }()
	r, err := http.Get("http://" + (<-addr).String())
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(r.Body)
	_ = r.Body.Close()
	fmt.Println(string(body))
	http.DefaultClient.CloseIdleConnections()
	_ = s.Close()
	// Output:
	// open
	// hello
	// close
}
