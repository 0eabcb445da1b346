//go:build unix

package server_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/suiro-go/suiro/server"
)

// The main function of a server: it ends in order at a signal. Here the program sends it to itself.
func ExampleRun() {
	s := &server.Server{Addr: "127.0.0.1:0", Handler: echo{}}
	s.Listening = func(net.Addr) { _ = syscall.Kill(os.Getpid(), syscall.SIGTERM) }
	if err := server.Run(context.Background(), s); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("all is served")
	// Output: all is served
}
