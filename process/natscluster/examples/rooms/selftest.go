package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/suiro-go/suiro/server"
)

const (
	testClients = 20
	testLines   = 10000 // of all clients
	testTime    = time.Minute
)

// selftest serves clients of all nodes that are in one room. Each sends its lines, and checks that
// it gets the lines of all, each client's in order.
func selftest(o options) error {
	return withNodes(o, func(ctx context.Context, nodes []*node) error {
		ctx, stop := context.WithTimeout(ctx, testTime)
		defer stop()
		listening, served := make(chan string, len(nodes)), make(chan error, 1)
		var servers []*server.Server
		for _, n := range nodes {
			n.tcp.Listening = func(a net.Addr) { listening <- a.String() }
			servers = append(servers, n.tcp)
		}
		go func() { served <- server.Run(ctx, servers...) }()
		var addrs []string
		for range nodes {
			select {
			case a := <-listening:
				addrs = append(addrs, a)
			case err := <-served:
				return err
			}
		}
		if err := talkAndListen(addrs); err != nil {
			stop()
			<-served
			return err
		}
		stop()
		return <-served
	})
}

func talkAndListen(addrs []string) error {
	var visitors []*visitor
	for i := range testClients {
		v, err := newVisitor(addrs[i%len(addrs)])
		if err != nil {
			return err
		}
		defer v.Close()
		visitors = append(visitors, v)
	}
	for _, v := range visitors { // all are here before the first line
		if err := v.entered(); err != nil {
			return err
		}
	}
	began := time.Now()
	results := make(chan error, 2*testClients)
	for _, v := range visitors {
		go func() { results <- v.talk(testLines / testClients) }()
		go func() { results <- v.listen(testLines) }()
	}
	for range cap(results) {
		if err := <-results; err != nil {
			return err
		}
	}
	took := time.Since(began)
	fmt.Printf("%d lines on %d nodes, each to %d clients, in %v: %.0f deliveries a second\n",
		testLines, len(addrs), testClients, took.Round(time.Millisecond), testLines*testClients/took.Seconds())
	return nil
}

// A visitor is a client of the self-test.
type visitor struct {
	net.Conn
	in *bufio.Reader
}

// newVisitor enters the room of the test.
func newVisitor(addr string) (*visitor, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Now().Add(testTime)); err != nil {
		return nil, err
	}
	_, err = io.WriteString(c, "/join test\n")
	return &visitor{c, bufio.NewReader(c)}, err
}

// entered waits until the client itself is in the room, by a line of its own.
func (v *visitor) entered() error {
	if _, err := io.WriteString(v, "ready\n"); err != nil {
		return err
	}
	var self string
	for {
		line, err := v.in.ReadString('\n')
		if err != nil {
			return err
		}
		if name, ok := strings.CutPrefix(line, "* you are "); ok {
			self, _, _ = strings.Cut(name, " ")
		}
		if line == self+" ready\n" {
			return nil
		}
	}
}

// talk sends numbered lines.
func (v *visitor) talk(n int) error {
	for i := range n {
		if _, err := fmt.Fprintf(v, "%d\n", i); err != nil {
			return err
		}
	}
	return nil
}

// listen checks that n lines come, each client's in order.
func (v *visitor) listen(n int) error {
	next := map[string]int{}
	for n > 0 {
		line, err := v.in.ReadString('\n')
		if err != nil {
			return err
		}
		var who string
		var i int
		if _, err := fmt.Sscanf(line, "%s %d\n", &who, &i); err != nil {
			continue // an announcement
		}
		if i != next[who] {
			return fmt.Errorf("%s sent line %d, not %d", who, i, next[who])
		}
		next[who]++
		n--
	}
	return nil
}
