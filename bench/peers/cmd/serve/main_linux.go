// Command serve has the servers that bench measures, except those of HTTP: serve CONTENDER KIND
// SIZE. It listens on a free port of 127.0.0.1, prints the address, and ends with its standard
// input. For each line of input it collects garbage. SIZE is the bytes of the load's messages.
//
// The kinds:
//
//	echo               an echo; churn and idle are the same
//	burn:N             an echo that computes N iterations for a message that begins with load.Mark
//	block:DURATION     an echo that sleeps for such a message, on its thread or in its goroutine
//	chunks             a mebibyte for each byte; slow-readers is the same
//	http               a fixed answer to each request
//	https, https-idle  http within TLS
//	tls                an echo within TLS
//	udp                an echo of datagrams
//	redis              the commands of examples/redis
//
// serve calibrate DURATION finds N.
package main

import (
	"bufio"
	"fmt"
	"log"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("serve: ")
	log.Fatal(run(os.Args[1:]))
}

func run(args []string) error {
	if len(args) == 2 && args[0] == "calibrate" {
		want, err := time.ParseDuration(args[1])
		if err != nil {
			return err
		}
		fmt.Println(calibrate(want))
		os.Exit(0)
	}
	if len(args) > 0 && args[0] == "serve" { // as in earlier builds, which are compared with
		args = args[1:]
	}
	if len(args) != 3 {
		return fmt.Errorf("serve takes a contender, a kind and a size, not %q", args)
	}
	serve := servers[args[0]]
	if serve == nil {
		return fmt.Errorf("there is no contender %q; there are %v", args[0], slices.Sorted(maps.Keys(servers)))
	}
	s, err := newService(args[1], args[2])
	if err != nil {
		return err
	}
	go obey()
	return serve(s)
}

// obey ends the process when nobody is there for it, and collects garbage on request.
func obey() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		debug.FreeOSMemory()
		debug.FreeOSMemory() // what the first one's sync.Pools kept, and finalizers
		fmt.Println("collected")
	}
	os.Exit(0)
}
