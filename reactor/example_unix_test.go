//go:build unix

package reactor_test

import (
	"fmt"
	"runtime"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/reactor"
)

// A goroutine that owns a reactor sends bytes through one descriptor, and receives them from
// another. Descriptors must be non-blocking.
func Example() {
	runtime.LockOSThread() // for io_uring: see NeedsThread
	defer runtime.UnlockOSThread()
	r, err := reactor.Open(reactor.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, fd := range pair {
		defer syscall.Close(fd)
		_ = syscall.SetNonblock(fd, true)
	}
	sender, receiver := reactor.MakeToken(1, 0), reactor.MakeToken(2, 0)
	ops := []reactor.Op{
		{Kind: reactor.Recv, FD: pair[1], Token: receiver, One: true},
		{Kind: reactor.Send, FD: pair[0], Token: sender, Buf: []byte("hello")},
	}
	for i := range ops {
		if err := r.Submit(&ops[i]); err != nil {
			fmt.Println(err)
			return
		}
	}
	for out := make([]reactor.Completion, 8); ; {
		n, err := r.Poll(out, time.Second, false)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, c := range out[:n] {
			switch {
			case c.Res < 0:
				fmt.Println(c.Kind, c.Errno())
				return
			case c.Token == receiver:
				fmt.Printf("received %q\n", c.Buf.Bytes)
				r.Release(c.Buf)
				return
			}
		}
	}
	// Output: received "hello"
}
