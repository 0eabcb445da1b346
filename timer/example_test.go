package timer_test

import (
	"fmt"

	"github.com/suiro-go/suiro/timer"
)

// A session has its timer embedded, so that starting it allocates nothing.
type session struct {
	name  string
	entry timer.Entry
}

func Example() {
	w := timer.New(0)
	a, b, c := session{name: "a"}, session{name: "b"}, session{name: "c"}
	for _, s := range []*session{&a, &b, &c} {
		s.entry.Value = s
	}
	w.Insert(&a.entry, 300)
	w.Insert(&b.entry, 100)
	w.Insert(&c.entry, 200)
	w.Insert(&a.entry, 400) // moved
	w.Remove(&c.entry)

	for _, now := range []uint64{99, 250, 500} {
		for e := w.Expire(now); e != nil; e = w.Expire(now) {
			fmt.Println("at", now, "expired:", e.Value.(*session).name, "of tick", e.When())
		}
	}
	// Output:
	// at 250 expired: b of tick 100
	// at 500 expired: a of tick 400
}

// Sleep until Next, and then call Expire: that is never too late.
func ExampleWheel_Next() {
	w := timer.New(0)
	var e timer.Entry
	w.Insert(&e, 100_000)
	for {
		next, ok := w.Next()
		if !ok {
			break
		}
		fmt.Println("wake at", next)
		w.Expire(next)
	}
	// Output:
	// wake at 98304
	// wake at 99968
	// wake at 100000
}
