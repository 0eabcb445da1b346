package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A client of net/http, over connections that workers serve.
func ExampleDialer_DialContext() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer s.Close()

	d := &server.Dialer{Timeout: 5 * time.Second}
	t := &http.Transport{DialContext: d.DialContext}
	defer t.CloseIdleConnections()
	resp, err := (&http.Client{Transport: t}).Get(s.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(string(body))
	// Output: hello
}

// asks sends a question, and gives the connection back when the answer has come.
type asks struct {
	server.Base
	pool   *server.Pool
	answer chan string
}

func (a asks) OnOpen(c *server.Conn) error {
	_, err := c.WriteString("hello")
	return err
}

func (a asks) OnData(c *server.Conn) error {
	if p, err := c.Next(5); err == nil {
		text := string(p)
		a.pool.Put(c)
		a.answer <- text
	}
	return nil
}

// Requests that share a connection, as a server's handlers would make them.
func ExamplePool() {
	group, err := conn.NewGroup(conn.Config{}, sched.Config{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer group.Close()
	ln, err := server.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ln.Close()
	go func() {
		c, err := ln.Accept()
		if err == nil {
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}
	}()

	pool := &server.Pool{Dialer: server.Dialer{Group: func() *conn.Group { return group }}, MaxConns: 10}
	for range 3 {
		a := asks{pool: pool, answer: make(chan string, 1)}
		if _, err := pool.Start("tcp", ln.Addr().String(), a); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(<-a.answer)
	}
	fmt.Println("dials:", pool.Stats().Dials)
	_ = pool.Close()
	_ = group.Wait(context.Background())
	// Output:
	// hello
	// hello
	// hello
	// dials: 1
}
