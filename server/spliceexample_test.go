package server_test

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A proxy of one function: it dials, copies both ways, and counts.
func ExampleStream_Splice() {
	origin, _ := net.Listen("tcp", "127.0.0.1:0")
	defer origin.Close()
	go func() { // it answers when it has read everything
		c, err := origin.Accept()
		if err != nil {
			return
		}
		question, _ := io.ReadAll(c)
		_, _ = fmt.Fprintf(c, "%s? 42", question)
		_ = c.Close()
	}()

	listening := make(chan net.Addr, 1)
	s := &server.Server{Addr: "127.0.0.1:0", Workers: 1, Listening: func(a net.Addr) { listening <- a }}
	dialer := server.Dialer{Group: s.Group}
	copied := make(chan string, 1)
	s.Handler = server.Sequential(func(cx *sched.Context, client *server.Stream) error {
		upstream, err := dialer.DialStream(cx, "tcp", origin.Addr().String())
		if err != nil {
			return err
		}
		there, back, err := client.Splice(cx, upstream, 0)
		copied <- fmt.Sprint(there, " bytes there, ", back, " back")
		return err
	})
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()

	c, _ := net.Dial("tcp", (<-listening).String())
	_, _ = io.WriteString(c, "six times seven")
	_ = c.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(c)
	fmt.Println(string(answer))
	_ = c.Close()
	fmt.Println(<-copied)

	_ = s.Shutdown(context.Background())
	fmt.Println(<-served)
	// Output:
	// six times seven? 42
	// 15 bytes there, 19 back
	// server: closed by Shutdown or Close
}
