//go:build unix

package server_test

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/suiro-go/suiro/server"
)

// A restart without a refused connection: the new process inherits the listening sockets, where
// server.Listeners finds them. Here a shell is the new process.
func ExampleServer_HandOver() {
	s := &server.Server{}
	if _, err := s.Listen("tcp", "127.0.0.1:0"); err != nil {
		panic(err)
	}
	cmd := exec.Command("sh", "-c", `echo "inherited $LISTEN_FDS socket"`)
	if err := s.HandOver(cmd); err != nil {
		panic(err)
	}
	said, err := cmd.Output() // a server would be started, and awaited until it says that it serves
	for _, f := range cmd.ExtraFiles {
		_ = f.Close() // the new process has copies
	}
	fmt.Print(string(said))
	fmt.Println(err, s.Shutdown(context.Background()))
	// Output:
	// inherited 1 socket
	// <nil> <nil>
}
