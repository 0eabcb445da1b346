// Package peer is the command line that all peers share.
package peer

import (
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/suiro-go/suiro/bench/peers/internal/plain"
)

// Options are a peer's parsed flags.
type Options struct {
	Addr string     // host:port to listen on; port 0 picks a free one
	Echo bool       // echo bytes instead of answering HTTP
	Step plain.Step // the handler of the chosen mode
}

// Loops is how many event loops a user would start here: one per usable CPU.
func Loops() int { return runtime.GOMAXPROCS(0) }

// Parse reads the flags and starts the clock of the answers. It exits if they make no sense.
func Parse() Options {
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	mode := flag.String("mode", "http", "http or echo")
	flag.Parse()
	switch *mode {
	case "http":
		plain.StartClock()
		return Options{Addr: *addr, Step: plain.HTTP}
	case "echo":
		return Options{Addr: *addr, Echo: true, Step: plain.Echo}
	}
	log.Fatalf("unknown -mode %q: want http or echo", *mode)
	panic("unreachable")
}

// HTTPOnly is Parse for peers that speak nothing else.
func HTTPOnly() Options {
	o := Parse()
	if o.Echo {
		log.Fatal("this peer is an HTTP server: it has no echo mode")
	}
	return o
}

// Listen listens with the net package, or exits.
func Listen(addr string) net.Listener {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		log.Fatal(err)
	}
	return ln
}

// Ready tells the harness where the peer listens.
func Ready(addr string) { fmt.Println("listening on", addr) }

// Serve announces addr, runs serve and exits when it fails or a SIGTERM or SIGINT arrives.
func Serve(addr string, serve func() error) {
	Ready(addr)
	go func() { log.Fatal(serve()) }()
	Wait()
}

// Wait returns when a SIGTERM or SIGINT arrives.
func Wait() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
}
