package natscluster_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/process/natscluster"
	"github.com/suiro-go/suiro/sched"
)

type greeting struct{ Text string }

// Two nodes, which here are in one program. A process of one receives a message of the other.
func ExampleJoin() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	types := natscluster.NewTypes()
	natscluster.Register[greeting](types, "greeting", natscluster.AtLeastOnce)
	first, err := natscluster.Join(ctx, natscluster.Config{Types: types}) // with a server
	if err != nil {
		log.Fatal(err)
	}
	second, err := natscluster.Join(ctx, natscluster.Config{Types: types, URL: first.URL()})
	if err != nil {
		log.Fatal(err)
	}
	ref, err := process.Go(second.System(), process.Options{}, func(cx *sched.Context, self *process.Inbox[greeting]) error {
		g, err := self.Receive(cx)
		fmt.Println(g.Text)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := first.System().TrySend(ref.PID(), greeting{"hello"}); err != nil {
		log.Fatal(err)
	}
	_, _ = sched.Await(ctx, second.System().Done(ref.PID()))
	for _, node := range []*natscluster.Cluster{second, first} {
		if err := node.Shutdown(ctx); err != nil {
			log.Fatal(err)
		}
	}
	// Output: hello
}
