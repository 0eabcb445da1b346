// Command netpoll is the raw handler on cloudwego/netpoll.
package main

import (
	"context"
	"log"

	"github.com/cloudwego/netpoll"

	"github.com/suiro-go/suiro/bench/peers/internal/peer"
	"github.com/suiro-go/suiro/bench/peers/internal/plain"
)

func main() {
	o := peer.Parse()
	ln, err := netpoll.CreateListener("tcp", o.Addr)
	if err != nil {
		log.Fatal(err)
	}
	loop, err := netpoll.NewEventLoop(func(_ context.Context, c netpoll.Connection) error {
		return serve(c, o.Step)
	})
	if err != nil {
		log.Fatal(err)
	}
	peer.Serve(ln.Addr().String(), func() error { return loop.Serve(ln) })
}

// serve consumes all that is buffered, as netpoll asks, and flushes once.
func serve(c netpoll.Connection, step plain.Step) error {
	r, w := c.Reader(), c.Writer()
	defer r.Release()
	for want := r.Len(); want > 0; {
		in, err := r.Peek(want)
		if err != nil {
			return c.Close()
		}
		used := 0
		for used < len(in) {
			answer, n, ok := step(in[used:])
			if !ok {
				return c.Close()
			}
			if n == 0 {
				break
			}
			buf, err := w.Malloc(len(answer))
			if err != nil {
				return c.Close()
			}
			copy(buf, answer)
			used += n
		}
		if err := r.Skip(used); err != nil {
			return c.Close()
		}
		if used > 0 {
			if err := w.Flush(); err != nil {
				return c.Close()
			}
		}
		if want = r.Len(); used < len(in) {
			want = max(want, len(in)-used+1) // a message is incomplete: Peek waits for more of it
		}
	}
	return nil
}
