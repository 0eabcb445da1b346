// Rooms is a chat whose rooms and clients are processes on several nodes.
//
//	go -C process/natscluster run ./examples/rooms -nodes 3 -addr 127.0.0.1:9001
//	go -C process/natscluster run ./examples/rooms -nodes 3 -selftest
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/suiro-go/suiro/server"
)

type options struct {
	nodes, workers          int
	addr, web, url, backend string
}

func main() {
	var o options
	flag.IntVar(&o.nodes, "nodes", 3, "number of nodes in this program")
	flag.StringVar(&o.addr, "addr", "127.0.0.1:9001", "`host:port` of the first node, for TCP; the others have the next ports, or any if it is 0")
	flag.StringVar(&o.web, "web", "127.0.0.1:8001", "`host:port` of the first node's page, as -addr")
	flag.StringVar(&o.url, "url", "", "`URL` of a NATS server, or of another such program (default: one inside the program)")
	flag.StringVar(&o.backend, "backend", "", "io_uring or epoll (default: epoll)")
	flag.IntVar(&o.workers, "workers", 0, "number of workers of each node (default: one per processor)")
	test := flag.Bool("selftest", false, "send and check 10,000 messages between the nodes, print the figures and end")
	flag.Parse()
	run := serve
	if *test {
		o.addr, o.web, run = "127.0.0.1:0", "127.0.0.1:0", selftest
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "rooms:", err)
		os.Exit(1)
	}
}

// serve runs the nodes until a signal.
func serve(o options) error {
	return withNodes(o, func(ctx context.Context, nodes []*node) error {
		fmt.Println("other programs join by -url", nodes[0].cluster.URL())
		var servers []*server.Server
		for i, n := range nodes {
			fmt.Printf("node %d: page on http://%v/\n", i+1, n.page.Addr())
			servers = append(servers, n.tcp)
			n.tcp.Listening = func(a net.Addr) { fmt.Printf("node %d: listening on %v\n", i+1, a) }
		}
		return server.Run(ctx, servers...)
	})
}

// withNodes calls f with nodes that have joined, and ends them.
func withNodes(o options, f func(ctx context.Context, nodes []*node) error) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var nodes []*node
	defer func() {
		ending, stop := context.WithTimeout(context.Background(), endTime)
		defer stop()
		for i := len(nodes) - 1; i >= 0; i-- { // the first one has the server
			if failed := nodes[i].end(ending); err == nil {
				err = failed
			}
		}
	}()
	for i := range max(1, o.nodes) {
		addr, err := after(o.addr, i)
		if err != nil {
			return err
		}
		web, err := after(o.web, i)
		if err != nil {
			return err
		}
		n, err := join(ctx, o.url, web)
		if err != nil {
			return err
		}
		n.tcp.Addr, n.tcp.Backend, n.tcp.Workers = addr, o.backend, o.workers
		nodes = append(nodes, n)
		o.url = nodes[0].cluster.URL()
	}
	return f(ctx, nodes)
}

const endTime = 10 * time.Second

// after is an address with a port that is higher by i, unless it is 0.
func after(addr string, i int) (string, error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return "", fmt.Errorf("the port of %s: %w", addr, err)
	}
	if port != 0 {
		port += i
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}
