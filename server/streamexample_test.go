package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/conn/frame"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// serveExample serves a sequential handler. The caller closes the server.
func serveExample(fn func(*sched.Context, *server.Stream) error) (s *server.Server, addr string) {
	listening := make(chan net.Addr, 1)
	s = &server.Server{Addr: "127.0.0.1:0", Workers: 1, Handler: server.Sequential(fn), Listening: func(a net.Addr) { listening <- a }}
	go func() { _ = s.ListenAndServe() }()
	return s, (<-listening).String()
}

// repeat answers a client with its own bytes.
func repeat(_ *sched.Context, s *server.Stream) error {
	_, err := io.Copy(s, s)
	return err
}

// dialExample runs fn in a task, with a Stream that is connected to addr.
func dialExample(g *conn.Group, addr string, fn func(cx *sched.Context, s *server.Stream) error) {
	d := &server.Dialer{Group: func() *conn.Group { return g }}
	h := sched.Go(g.Runtime(), func(cx *sched.Context) (struct{}, error) {
		s, err := d.DialStream(cx, "tcp", addr)
		if err == nil {
			defer s.Close()
			err = fn(cx, s)
		}
		return struct{}{}, err
	})
	if _, err := h.Wait(context.Background()); err != nil {
		fmt.Println(err)
	}
}

// A task connects, writes and reads in plain sequential code.
func ExampleDialer_DialStream() {
	s, addr := serveExample(repeat)
	defer s.Close()
	d := &server.Dialer{Group: s.Group} // on the server's workers
	h := sched.Go(s.Group().Runtime(), func(cx *sched.Context) (string, error) {
		c, err := d.DialStream(cx, "tcp", addr)
		if err != nil {
			return "", err
		}
		defer c.Close()
		if _, err := io.WriteString(c, "hello"); err != nil {
			return "", err
		}
		p := make([]byte, 5)
		_, err = c.ReadFull(p)
		return string(p), err
	})
	fmt.Println(h.Wait(context.Background()))
	// Output: hello <nil>
}

// A task accepts connections and starts another task for each.
func ExampleServer_ListenStream() {
	s := &server.Server{Workers: 1}
	l, err := s.ListenStream("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	sched.Go(s.Group().Runtime(), func(cx *sched.Context) (struct{}, error) {
		for {
			c, err := l.Accept(cx)
			if err != nil {
				return struct{}{}, err
			}
			sched.Go(cx, func(cx *sched.Context) (struct{}, error) {
				c := c.Bind(cx) // the task that uses it
				defer c.Close()
				return struct{}{}, repeat(cx, c)
			}).Detach()
		}
	}).Detach()

	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Fprint(c, "hello")
	_ = c.(*net.TCPConn).CloseWrite()
	p, err := io.ReadAll(c)
	fmt.Println(string(p), err)
	// Output: hello <nil>
}

// Peek looks at bytes and leaves them unread, without a buffer of the caller's.
func ExampleStream_Peek() {
	s, addr := serveExample(repeat)
	defer s.Close()
	dialExample(s.Group(), addr, func(_ *sched.Context, c *server.Stream) error {
		if _, err := io.WriteString(c, "GET /"); err != nil {
			return err
		}
		p, err := c.Peek(3)
		if err != nil {
			return err
		}
		fmt.Printf("%s\n", p)
		p, err = c.Next(5)
		fmt.Printf("%s\n", p)
		return err
	})
	// Output:
	// GET
	// GET /
}

// TryRead reads bytes that have arrived. Readable waits for them, also beside other futures in a
// Select.
func ExampleStream_TryRead() {
	s, addr := serveExample(repeat)
	defer s.Close()
	dialExample(s.Group(), addr, func(cx *sched.Context, c *server.Stream) error {
		p := make([]byte, 100)
		_, err := c.TryRead(p)
		fmt.Println(err)
		if _, err := c.TryWrite([]byte("hello")); err != nil {
			return err
		}
		if _, err := sched.Await(cx, c.Readable()); err != nil {
			return err
		}
		n, err := c.TryRead(p)
		fmt.Println(n > 0, err)
		return nil
	})
	// Output:
	// conn: the stream is not ready
	// true <nil>
}

// Two tasks share a stream: one writes, the other one reads. Each has bound it.
func ExampleStream_Bind() {
	s, addr := serveExample(repeat)
	defer s.Close()
	dialExample(s.Group(), addr, func(cx *sched.Context, c *server.Stream) error {
		writer := sched.Go(cx, func(cx *sched.Context) (struct{}, error) {
			w := c.Bind(cx)
			for i := range 3 {
				if _, err := fmt.Fprintf(w, "line %d\n", i); err != nil {
					return struct{}{}, err
				}
			}
			return struct{}{}, w.CloseWrite()
		})
		p, err := io.ReadAll(c)
		fmt.Print(string(p))
		if err == nil {
			_, err = sched.Await(cx, writer)
		}
		return err
	})
	// Output:
	// line 0
	// line 1
	// line 2
}

// io.Copy works with streams on either side, and awaits bytes without a buffer.
func ExampleStream_WriteTo() {
	s, addr := serveExample(repeat)
	defer s.Close()
	dialExample(s.Group(), addr, func(_ *sched.Context, c *server.Stream) error {
		if _, err := io.Copy(c, strings.NewReader("to the server and back")); err != nil {
			return err
		}
		if err := c.CloseWrite(); err != nil {
			return err
		}
		var b strings.Builder
		n, err := io.Copy(&b, c)
		fmt.Println(n, b.String())
		return err
	})
	// Output: 22 to the server and back
}

// Lines of a stream, each where it lies: the loop ends with the peer's end.
func ExampleStream_lines() {
	s, addr := serveExample(func(_ *sched.Context, s *server.Stream) error {
		lines := &frame.Line{Max: 1024}
		for {
			line, err := frame.Read(s, lines)
			if err == io.EOF {
				return nil
			}
			if err == nil {
				_, err = fmt.Fprintf(s, "<%s>\n", line)
			}
			if err != nil {
				return err
			}
		}
	})
	defer s.Close()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Fprint(c, "one\ntwo\n")
	_ = c.(*net.TCPConn).CloseWrite()
	p, _ := io.ReadAll(c)
	fmt.Print(string(p))
	// Output:
	// <one>
	// <two>
}

// A query on behalf of a connection ends with that: its context is that of the task.
func ExampleStream_Context() {
	ended := make(chan error, 1)
	s, addr := serveExample(func(cx *sched.Context, s *server.Stream) error {
		query, cancel := context.WithCancel(cx) // derived from s.Context()
		defer cancel()
		_, err := sched.Await(cx, sched.Shield(sched.Done(query)))
		ended <- context.Cause(s.Context())
		return err
	})
	defer s.Close()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close() // a reset
	fmt.Println(<-ended != nil)
	// Output: true
}

// A task gets a connection from the pool for each exchange, and gives it back for others.
func ExamplePool_GetStream() {
	s, addr := serveExample(repeat)
	defer s.Close()
	pool := &server.Pool{Dialer: server.Dialer{Group: s.Group}, MaxConns: 10}
	defer pool.Close()
	h := sched.Go(s.Group().Runtime(), func(cx *sched.Context) (string, error) {
		var text string
		for _, word := range []string{"one ", "two ", "three"} {
			c, err := pool.GetStream(cx, "tcp", addr)
			if err != nil {
				return text, err
			}
			p := make([]byte, len(word))
			if _, err = io.WriteString(c, word); err == nil {
				_, err = io.ReadFull(c, p)
			}
			if err != nil {
				_ = c.Close() // the connection is of no further use
				return text, err
			}
			text += string(p)
			pool.PutStream(c)
		}
		return text, nil
	})
	fmt.Println(h.Wait(context.Background()))
	// Output: one two three <nil>
}
