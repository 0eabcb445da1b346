//go:build !explore

package chanx_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

// Each benchmark runs with tasks of a runtime, and with goroutines and a chan of the same
// capacity:
//
//   - /tasks: stackless tasks that keep their future
//   - /batch: these, and receivers take all available values at once
//   - /batches: these, and senders send 64 values at a time
//   - /stackful: stackful tasks
//   - /goroutines: goroutines on this package's channel
//   - /chan: goroutines on a chan
//
// On two idle cores, in ns per value, from one sender to one receiver, four to one, and four to
// four:
//
//	chan      55   65   85
//	/batches  20   25   25 to 33
//	/batch    31   61   75 to 110
//	/tasks    39   49   65
//
// One value at a time cannot be twice as fast as a chan from one sender to one receiver. The two
// run in turns on one worker, without contention and without waiting. Nine tenths of their time
// are four locked instructions: one to claim and one to publish on either side. These alone take
// 24 ns of 38.
//
// Fewer locked instructions do not achieve it, either. Consider a ring for only one sender and one
// receiver, which publishes by storing tail and head. It has one locked instruction on either
// side, and is not usable here. It takes 33 ns of CPU where this one takes 44 and a chan 51. Even
// then the rest, polls and budgets, is too much.
//
// And one locked instruction on either side is impossible here. On amd64, Go has no store without
// a full barrier (the race detector would not see one in an assembly function). So both the claim
// and the publication need a locked instruction. These alternatives fail:
//
//   - Claim several positions for one publication, or the reverse. Then a future keeps positions
//     between two polls. A value that another task sends meanwhile has a later position than a
//     value that is sent after it, so the queue is not linearizable. And if the receiver that
//     holds a position is slow, a value is received after one that was sent later.
//   - Hold a lock for the length of a run. It delays all others for as long as a task computes
//     between two values.
//   - Use a compare-and-swap of a slot's word alone, which exchanges nodes. It claims and
//     publishes at once. But then no word contains room, permits and close together, which makes
//     capacity and Close exact.
//
// With one worker, and so without any contention, 4 to 1 and 4 to 4 take 52 and 50 ns of CPU, and
// chan 57 (all on a loaded machine). So where tasks are on two workers, contention is not the only
// obstacle.
//
// These did not help:
//
//   - DPDK's ring publishes positions in order instead of slot by slot. It is a fifth faster in
//     batches from one to one. But waiting for earlier claimers makes it three times slower from
//     four to four.
//   - Fewer wake-ups: there is one for a hundred values. The rest is contention for the cache
//     lines of tail, head and slots. Hence the backOff of ring; 4 and 16 times as long is no
//     better.
//   - Waking senders only when half of the room is free. A task that receives one value and then
//     waits for a sender's next step would hang.

// A producer is a stackless task that sends a number of values.
type producer struct {
	left int
	tx   *chanx.Sender[int]
	f    sched.Future[struct{}] // nil: it does not wait
}

func newProducer(tx *chanx.Sender[int], n int) *producer {
	return &producer{left: n, tx: tx.Clone()}
}

func (p *producer) Poll(cx *sched.Context) (struct{}, error) {
	for ; p.left > 0; p.left-- {
		if p.f == nil && cx.Proceed() && p.tx.TrySend(p.left) == nil {
			continue
		}
		if p.f == nil {
			p.f = p.tx.SendFuture(p.left)
		}
		if _, err := p.f.Poll(cx); err != nil {
			return struct{}{}, err
		}
		p.f = nil
	}
	p.tx.Close()
	return struct{}{}, nil
}

// A consumer is a stackless task that receives until the channel is closed.
type consumer struct {
	f    sched.Future[int]
	got  int
	done *sync.WaitGroup
}

func (c *consumer) Poll(cx *sched.Context) (struct{}, error) {
	for {
		v, err := c.f.Poll(cx)
		if err == sched.ErrPending {
			return struct{}{}, err
		} else if err != nil {
			c.done.Done()
			return struct{}{}, nil
		}
		c.got += v
	}
}

// A batchConsumer receives all available values at once, up to the size of its buffer.
type batchConsumer struct {
	f    sched.Future[int]
	buf  []int
	got  int
	done *sync.WaitGroup
}

func (c *batchConsumer) Poll(cx *sched.Context) (struct{}, error) {
	for {
		n, err := c.f.Poll(cx)
		if err == sched.ErrPending {
			return struct{}{}, err
		} else if err != nil {
			c.done.Done()
			return struct{}{}, nil
		}
		for _, v := range c.buf[:n] {
			c.got += v
		}
	}
}

// A crew's side takes part in a channel: a receiver until the channel is closed, or a sender of n
// values that then closes its handle.
type (
	receiving func(rt *sched.Runtime, rx *chanx.Receiver[int], done *sync.WaitGroup)
	sending   func(rt *sched.Runtime, tx *chanx.Sender[int], n int)
)

func receiveAll(ctx context.Context, rx *chanx.Receiver[int], done *sync.WaitGroup) (got int) {
	defer done.Done()
	for v := range rx.All(ctx) {
		got += v
	}
	return got
}

func sendAllOf(ctx context.Context, tx *chanx.Sender[int], n int) (err error) {
	defer tx.Close()
	for v := 0; v < n && err == nil; v++ {
		err = tx.Send(ctx, v)
	}
	return err
}

func inBatches(rt *sched.Runtime, rx *chanx.Receiver[int], done *sync.WaitGroup) {
	buf := make([]int, 64)
	sched.Spawn(rt, sched.Future[struct{}](&batchConsumer{f: rx.RecvManyFuture(buf), buf: buf, done: done})).Detach()
}

func oneByOne(rt *sched.Runtime, tx *chanx.Sender[int], n int) {
	sched.Spawn(rt, sched.Future[struct{}](newProducer(tx, n))).Detach()
}

func benchmarkMPMC(b *testing.B, senders, receivers, capacity int) {
	share := func(b *testing.B, i int) int { return (b.N + i) / senders }
	for _, c := range []struct {
		name    string
		receive receiving
		send    sending
	}{
		{"tasks", func(rt *sched.Runtime, rx *chanx.Receiver[int], done *sync.WaitGroup) {
			sched.Spawn(rt, sched.Future[struct{}](&consumer{f: rx.RecvFuture(), done: done})).Detach()
		}, oneByOne},
		{"batch", inBatches, oneByOne},
		{"stackful", func(rt *sched.Runtime, rx *chanx.Receiver[int], done *sync.WaitGroup) {
			sched.Go(rt, func(cx *sched.Context) (int, error) { return receiveAll(cx, rx, done), nil }).Detach()
		}, func(rt *sched.Runtime, tx *chanx.Sender[int], n int) {
			tx = tx.Clone()
			sched.Go(rt, func(cx *sched.Context) (int, error) { return 0, sendAllOf(cx, tx, n) }).Detach()
		}},
		{"goroutines", func(_ *sched.Runtime, rx *chanx.Receiver[int], done *sync.WaitGroup) {
			go receiveAll(context.Background(), rx, done)
		}, func(_ *sched.Runtime, tx *chanx.Sender[int], n int) {
			go sendAllOf(context.Background(), tx.Clone(), n)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			rt := start(b, 0)
			b.ReportAllocs()
			tx, rx := chanx.NewBounded[int](capacity)
			var done sync.WaitGroup
			done.Add(receivers)
			for range receivers {
				c.receive(rt, rx, &done)
			}
			for i := range senders {
				c.send(rt, tx, share(b, i))
			}
			tx.Close()
			done.Wait()
		})
	}
	b.Run("chan", func(b *testing.B) {
		b.ReportAllocs()
		ch := make(chan int, capacity)
		var wg, sending sync.WaitGroup
		for range receivers {
			wg.Go(func() {
				got := 0
				for v := range ch {
					got += v
				}
			})
		}
		for i := range senders {
			sending.Go(func() {
				for v := range share(b, i) {
					ch <- v
				}
			})
		}
		sending.Wait()
		close(ch)
		wg.Wait()
	})
}

func BenchmarkMPMC(b *testing.B) {
	for _, sides := range [][2]int{{1, 1}, {4, 1}, {4, 4}} {
		for _, capacity := range []int{128, 1024} {
			b.Run(fmt.Sprintf("%d to %d, %d", sides[0], sides[1], capacity), func(b *testing.B) {
				benchmarkMPMC(b, sides[0], sides[1], capacity)
			})
		}
	}
}

// One goroutine makes a oneshot, sends a value and receives it.
func BenchmarkOneshot(b *testing.B) {
	b.Run("oneshot", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			tx, rx := chanx.NewOneshot[int]()
			_ = tx.Send(context.Background(), i)
			if v, err := rx.Recv(context.Background()); err != nil || v != i {
				b.Fatal(v, err)
			}
		}
	})
	b.Run("chan", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			ch := make(chan int, 1)
			ch <- i
			if v := <-ch; v != i {
				b.Fatal(v)
			}
		}
	})
}

// One goroutine sends and receives in turns: the cost of the operations without contention.
func BenchmarkAlone(b *testing.B) {
	b.Run("bounded", func(b *testing.B) {
		tx, rx := chanx.NewBounded[int](128)
		for i := range b.N {
			_ = tx.TrySend(i)
			_, _ = rx.TryRecv()
		}
	})
	b.Run("unbounded", func(b *testing.B) {
		b.ReportAllocs()
		tx, rx := chanx.NewUnbounded[int]()
		for i := range b.N {
			_ = tx.Send(context.Background(), i)
			_, _ = rx.TryRecv()
		}
	})
	b.Run("chan", func(b *testing.B) {
		ch := make(chan int, 128)
		for i := range b.N {
			ch <- i
			<-ch
		}
	})
}
