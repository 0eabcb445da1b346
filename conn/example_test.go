package conn_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/sched"
)

// A counter answers each connection's bytes with how many there have been. The count is the
// connection's value, so one handler serves all.
type counter struct{ conn.Base }

func (counter) OnOpen(c *conn.Conn) error {
	c.SetValue(new(int))
	return nil
}

func (counter) OnData(c *conn.Conn) error {
	n, _ := conn.ValueOf[*int](c)
	p, err := c.Next(-1)
	if err != nil {
		return err
	}
	*n += len(p)
	_, err = fmt.Fprintln(c, *n)
	return err
}

// OnDrain says goodbye. Base would close the connection without.
func (counter) OnDrain(c *conn.Conn) {
	_, _ = c.WriteString("goodbye\n")
	_ = c.Close()
}

// A Handler's methods are called when something has happened to a connection. They never wait.
func ExampleHandler() {
	g, addr, err := exampleGroup(counter{})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := net.Dial("tcp", addr.String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for _, text := range []string{"hello", "you"} {
		_, _ = io.WriteString(c, text)
		line, _ := in.ReadString('\n')
		fmt.Print(line)
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Shutdown(context.Background()) }()
	line, _ := in.ReadString('\n')
	fmt.Print(line)
	_ = c.Close()
	fmt.Println(<-ended, g.Close())
	// Output:
	// 5
	// 8
	// goodbye
	// <nil> <nil>
}

// exampleGroup is a group with one listener.
func exampleGroup(h conn.Handler) (*conn.Group, net.Addr, error) {
	g, err := conn.NewGroup(conn.Config{}, sched.Config{Workers: 1})
	if err != nil {
		return nil, nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	_, err = g.Listen(ln, h)
	_ = ln.Close() // the group has a descriptor of its own
	return g, ln.Addr(), err
}

// upper answers lines in capitals, in plain sequential code.
func upper(_ *sched.Context, s *conn.Stream) error {
	lines := bufio.NewScanner(s)
	for lines.Scan() {
		if _, err := fmt.Fprintln(s, strings.ToUpper(lines.Text())); err != nil {
			return err
		}
	}
	return lines.Err()
}

// A Group is workers, listeners and connections. Its runtime runs tasks beside them: this one dials
// the group's own listener, on the same workers.
func ExampleGroup() {
	g, addr, err := exampleGroup(conn.Sequential(upper))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Stop(context.Background())
	h := sched.Go(g.Runtime(), func(cx *sched.Context) (string, error) {
		s := conn.NewStream()
		if _, err := g.Dial(addr, s.Handler()); err != nil {
			return "", err
		}
		s = s.Bind(cx) // its first write waits until the connection is established
		defer s.Close()
		if _, err := fmt.Fprintln(s, "hello"); err != nil {
			return "", err
		}
		return bufio.NewReader(s).ReadString('\n')
	})
	answer, err := h.Wait(context.Background())
	fmt.Print(answer)
	fmt.Println(err)
	// Output:
	// HELLO
	// <nil>
}

// A question is the handler of a dialed connection.
type question struct {
	conn.Base
	text   string
	answer chan string
}

func (q *question) OnOpen(c *conn.Conn) error {
	_, err := c.WriteString(q.text)
	return err
}

func (q *question) OnData(c *conn.Conn) error {
	line, found := "", false
	p, _ := c.Peek(-1)
	if line, _, found = strings.Cut(string(p), "\n"); !found {
		return nil // OnData is called again when more has come
	}
	q.answer <- line
	return c.Close()
}

// OnClose is the last call, also if the dial has failed.
func (q *question) OnClose(_ *conn.Conn, err error) {
	if err != nil {
		q.answer <- err.Error()
	}
}

// Dial returns at once. The handler gets the connection, or the error.
func ExampleGroup_Dial() {
	g, addr, err := exampleGroup(conn.Sequential(upper))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Stop(context.Background())
	q := &question{text: "which way?\n", answer: make(chan string, 1)}
	if _, err := g.Dial(addr, q); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-q.answer)
	// Output: WHICH WAY?
}
