package blocking_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/sched"
)

func call() (int, error) { return 1, nil }

// A round trip: a function runs elsewhere, and its result comes back. The baseline is an ordinary
// goroutine that starts another one and receives from it. "do" is a task that awaits Do on a
// runtime with one worker. Both run alone, and with many in flight: as many goroutines, or tasks.
// The figures are per round trip.
func BenchmarkDo(b *testing.B) {
	for _, inFlight := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("go+chan/%d", inFlight), func(b *testing.B) {
			b.ReportAllocs()
			ends := make(chan struct{})
			for i := range inFlight {
				go func() {
					for n := i; n < b.N; n += inFlight {
						ch := make(chan int, 1)
						go func() {
							v, _ := call()
							ch <- v
						}()
						<-ch
					}
					ends <- struct{}{}
				}()
			}
			for range inFlight {
				<-ends
			}
		})
		b.Run(fmt.Sprintf("do/%d", inFlight), func(b *testing.B) {
			inTasks(b, inFlight, func(cx *sched.Context, p *blocking.Pool) error {
				_, err := blocking.Do(cx, p, call)
				return err
			})
		})
	}
	b.Run("go+chan/10µs", func(b *testing.B) {
		for range b.N {
			ch := make(chan int, 1)
			go func() {
				v, _ := busy()
				ch <- v
			}()
			<-ch
		}
	})
	b.Run("do/10µs", func(b *testing.B) {
		inTasks(b, 1, func(cx *sched.Context, p *blocking.Pool) error {
			_, err := blocking.Do(cx, p, busy)
			return err
		})
	})
}

func busy() (int, error) {
	for began := time.Now(); time.Since(began) < 10*time.Microsecond; {
	}
	return 1, nil
}

func inTasks(b *testing.B, tasks int, do func(cx *sched.Context, p *blocking.Pool) error) {
	b.ReportAllocs()
	var p blocking.Pool
	rt := sched.New(sched.Config{Workers: 1})
	var all []*sched.JoinHandle[int]
	for i := range tasks {
		all = append(all, sched.Go(rt, func(cx *sched.Context) (int, error) {
			for n := i; n < b.N; n += tasks {
				if err := do(cx, &p); err != nil {
					return 0, err
				}
			}
			return 0, nil
		}))
	}
	for _, h := range all {
		if _, err := h.Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	rt.Close()
	p.Shutdown(context.Background())
}
