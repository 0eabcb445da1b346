package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

type plainEcho struct{ server.Base }

func (plainEcho) OnData(c *server.Conn) error {
	p, _ := c.Next(-1) // all received bytes, in place
	_, err := c.Write(p)
	return err
}

// A Server with a Handler: methods that are called for each connection's events.
func ExampleServer() {
	listening := make(chan net.Addr, 1)
	s := &server.Server{Addr: "127.0.0.1:0", Handler: plainEcho{}, Listening: func(a net.Addr) { listening <- a }}
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()

	c, err := net.Dial("tcp", (<-listening).String())
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(c, "hello")
	line, _ := bufio.NewReader(c).ReadString('\n')
	fmt.Print(line)
	_ = c.Close()

	_ = s.Shutdown(context.Background())
	fmt.Println(<-served)
	// Output:
	// hello
	// server: closed by Shutdown or Close
}

// A function that reads and writes, called for each connection. While it waits it holds no thread.
func ExampleSequential() {
	listening := make(chan net.Addr, 1)
	s := &server.Server{Addr: "127.0.0.1:0", Listening: func(a net.Addr) { listening <- a }}
	s.Handler = server.Sequential(func(cx *sched.Context, c *server.Stream) error {
		name, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			return err
		}
		if _, err := sched.Await(cx, sched.Sleep(time.Millisecond)); err != nil {
			return err // the server is being closed
		}
		_, err = fmt.Fprint(c, "hello, ", name)
		return err // the connection ends with the function
	})
	go func() { _ = s.ListenAndServe() }()

	c, err := net.Dial("tcp", (<-listening).String())
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(c, "gopher")
	answer, _ := io.ReadAll(c)
	fmt.Print(string(answer))
	_ = c.Close()
	_ = s.Close()
	// Output: hello, gopher
}

type subscriber struct {
	server.Base
	came chan<- server.Handle
}

func (s subscriber) OnOpen(c *server.Conn) error {
	c.SetValue("first") // any value; ValueOf returns it
	s.came <- c.Handle()
	return nil
}

func (subscriber) OnData(c *server.Conn) error { c.Discard(c.Buffered()); return nil }

// A Handle is used from any goroutine, at any time: to send, to call a function beside the
// handler's methods, or to close.
func ExampleHandle() {
	listening, came := make(chan net.Addr, 1), make(chan server.Handle, 1)
	s := &server.Server{Addr: "127.0.0.1:0", Handler: subscriber{came: came}, Listening: func(a net.Addr) { listening <- a }}
	go func() { _ = s.ListenAndServe() }()
	c, err := net.Dial("tcp", (<-listening).String())
	if err != nil {
		panic(err)
	}

	handle := <-came
	_ = handle.Send([]byte("news\n"))
	name := make(chan string, 1)
	_ = handle.Do(func(c *server.Conn) {
		value, _ := server.ValueOf[string](c)
		name <- value
	})
	fmt.Println(<-name)
	_ = handle.Close() // sends all, then FIN
	received, _ := io.ReadAll(c)
	fmt.Print(string(received))
	_ = c.Close()
	_ = s.Close()
	fmt.Println(errors.Is(handle.Send(nil), net.ErrClosed)) // a handle may outlive its connection
	// Output:
	// first
	// news
	// true
}

type question struct {
	server.Base
	answer chan<- string
}

func (q question) OnOpen(c *server.Conn) error {
	_, err := c.Write([]byte("six times seven"))
	c.CloseWrite()
	return err
}

func (q question) OnData(c *server.Conn) error {
	p, _ := c.Next(-1)
	q.answer <- string(p)
	return nil
}

// A Dialer connects by name, with a Handler for the connection. The zero Dialer has workers of its
// own; in a server's handlers, set Group to Server.Group.
func ExampleDialer_DialHandler() {
	origin, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer origin.Close()
	go func() {
		c, err := origin.Accept()
		if err != nil {
			return
		}
		_, _ = io.ReadAll(c)
		_, _ = c.Write([]byte("42"))
		_ = c.Close()
	}()

	answer := make(chan string, 1)
	dialer := server.Dialer{Timeout: 10 * time.Second}
	_, port, _ := net.SplitHostPort(origin.Addr().String())
	handle, err := dialer.DialHandler(context.Background(), "tcp4", "localhost:"+port, question{answer: answer})
	if err != nil {
		panic(err)
	}
	fmt.Println(<-answer)
	<-handle.Context().Done() // the origin has closed the connection
	// Output: 42
}

type datagramEcho struct{ server.PacketBase }

func (datagramEcho) OnPackets(c *server.PacketConn, batch []server.Packet) error {
	for _, p := range batch {
		if err := c.WriteTo(p.Data, p.From); err != nil {
			return err
		}
	}
	return nil
}

// A Server with a PacketHandler serves a UDP socket on each worker.
func ExamplePacketHandler() {
	listening := make(chan net.Addr, 1)
	s := &server.Server{Network: "udp", Addr: "127.0.0.1:0", Packets: datagramEcho{}, Listening: func(a net.Addr) { listening <- a }}
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()

	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.MustParseAddrPort((<-listening).String())))
	if err != nil {
		panic(err)
	}
	fmt.Fprint(c, "ping")
	p := make([]byte, 16)
	n, _ := c.Read(p)
	fmt.Println(string(p[:n]))
	_ = c.Close()
	_ = s.Close()
	fmt.Println(<-served)
	// Output:
	// ping
	// server: closed by Shutdown or Close
}

type forwarder struct {
	server.Base
	dialer server.Dialer
	to     string
	copied chan<- string
}

// OnOpen dials on the worker of the client's connection, and joins the two at once.
func (f forwarder) OnOpen(client *server.Conn) error {
	f.dialer.Near = client
	upstream, err := f.dialer.Start("tcp", f.to, dialedSide{})
	if err != nil {
		return err
	}
	_, err = server.Splice(client, upstream, func(s *server.Spliced) {
		there, back := s.Bytes()
		f.copied <- fmt.Sprint(there, " bytes there, ", back, " back")
	})
	return err
}

func (forwarder) OnData(*server.Conn) error { return nil } // not called once they are joined

type dialedSide struct{ server.Base }

func (dialedSide) OnData(*server.Conn) error { return nil }

// A proxy of callbacks: Splice passes bytes on in both directions, with half-closes and
// back-pressure.
func ExampleSplice() {
	origin, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer origin.Close()
	go func() { // it answers when it has read everything
		c, err := origin.Accept()
		if err != nil {
			return
		}
		all, _ := io.ReadAll(c)
		_, _ = fmt.Fprintf(c, "%s? 42", all)
		_ = c.Close()
	}()

	listening, copied := make(chan net.Addr, 1), make(chan string, 1)
	s := &server.Server{Addr: "127.0.0.1:0", Listening: func(a net.Addr) { listening <- a }}
	s.Handler = forwarder{dialer: server.Dialer{Group: s.Group}, to: origin.Addr().String(), copied: copied}
	go func() { _ = s.ListenAndServe() }()

	c, err := net.Dial("tcp", (<-listening).String())
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(c, "six times seven")
	_ = c.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(c)
	fmt.Println(string(answer))
	_ = c.Close()
	fmt.Println(<-copied)
	_ = s.Close()
	// Output:
	// six times seven? 42
	// 15 bytes there, 19 back
}
