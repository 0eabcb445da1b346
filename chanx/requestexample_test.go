//go:build !explore

package chanx_test

import (
	"context"
	"fmt"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

// A get is a request to the task that owns the data. The answer comes by the oneshot channel.
type get struct {
	key    string
	answer *chanx.OneshotSender[string]
}

// One task owns the data. Other tasks send it requests, and need no lock.
func ExampleNewOneshot_request() {
	rt := sched.New(sched.Config{Workers: 2})
	defer rt.Close()
	requests, queue := chanx.NewBounded[get](8)
	sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		data := map[string]string{"language": "Go"}
		for r := range queue.All(cx) {
			_ = r.answer.Send(cx, data[r.key]) // the client may have ended
		}
		return struct{}{}, nil
	}).Detach()

	client := sched.Go(rt, func(cx *sched.Context) (string, error) {
		defer requests.Close()
		tx, rx := chanx.NewOneshot[string]()
		if err := requests.Send(cx, get{"language", tx}); err != nil {
			return "", err
		}
		return rx.Recv(cx)
	})
	fmt.Println(client.Wait(context.Background()))
	// Output: Go <nil>
}
