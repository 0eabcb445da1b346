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

// Each benchmark runs with tasks of a runtime and, beside them, with goroutines and a
// chan of the same capacity: compare /tasks (stackless, they keep their future), /batch
// (these, receiving what there is at once), /batches (sending 64 at a time, too), /stackful and /goroutines (on this package's
// channel) with /chan.
//
// On two cores without other load a chan took 55 to 65 ns per value from one or four to one and 85 from four
// to four; /batches 20, 25 and 25 to 33; /batch 31, 61 and 75 to 110; /tasks 39, 49 and 65.
// One at a time there is no factor of two to be had from one sender to one receiver:
// these run by turns on one worker, without company and without waiting, so that nine
// tenths are four locked instructions: one to claim and one to publish on either side,
// 24 ns of 38 when nothing else is done.
//
// Nor is there from fewer of them. A ring for one sender and one receiver alone, which
// publishes by storing tail and head and so has one locked instruction on either side, as
// unfit as it is here, takes 33 ns of CPU where this one takes 44 and a chan 51: even then
// the rest, polls and budgets, is too much. And one each is out of reach. Go has no store
// without a full barrier on amd64 (an assembly function would be one that the race
// detector does not see), so who claims and who publishes each needs a locked
// instruction. To claim several positions for one publication or the reverse, a future
// would have to keep positions between two polls: a value that another sends
// meanwhile has then a later position than one that is sent after it, so that the queue is
// not linearizable; and a value is received after one that was sent later, if the receiver
// that holds its position is slow. To keep a lock for the length of a run holds all others
// up for as long as a task computes between two values. A compare-and-swap of a slot's word
// alone, which exchanges nodes, claims and publishes at once, but leaves no word that has
// room, permits and close together, which is what makes capacity and Close exact.
// With one worker, that is, with no company at all, 4 to 1 and 4 to 4 take 52 and 50 ns of CPU,
// chan 57 (all of these on a loaded machine): where tasks are on two, it is not contention alone that
// keeps them from half of that.
//
// What did not help. DPDK's ring, which publishes positions in order instead of slot by
// slot: a fifth faster in batches from one to one, but those who wait for who claimed
// before them make it three times slower from four to four. Fewer wake-ups: there is one
// for a hundred values; contention for the cache lines of tail, head and slots costs the
// rest, hence ring's backOff (4 and 16 times as long is no better). Waking senders only when half of the room is free would hang
// whoever receives one value and then waits for what a sender does next.

// A producer is a stackless task that sends so many values.
type producer struct {
	left int
	tx   *chanx.Sender[int]
	f    *chanx.SendFuture[int]
}

func newProducer(tx *chanx.Sender[int], n int) *producer {
	return &producer{n, tx.Clone(), tx.SendFuture(0)}
}

func (p *producer) Poll(cx *sched.Context) (struct{}, error) {
	for ; p.left > 0; p.left-- {
		if _, err := p.f.Poll(cx); err != nil {
			return struct{}{}, err
		}
		p.f.Reset(p.left)
	}
	p.tx.Close()
	return struct{}{}, nil
}

// A consumer is a stackless task that receives until the channel is closed.
type consumer struct {
	f    *chanx.RecvFuture[int]
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

// A batchConsumer receives what there is at once, as far as it has room.
type batchConsumer struct {
	f    *chanx.RecvManyFuture[int]
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

// A batchProducer sends so many values, 64 at a time.
type batchProducer struct {
	left int
	vs   []int
	tx   *chanx.Sender[int]
	f    *chanx.SendManyFuture[int]
}

func newBatchProducer(tx *chanx.Sender[int], n int) *batchProducer {
	return &batchProducer{n, make([]int, 64), tx.Clone(), tx.SendManyFuture(nil)}
}

func (p *batchProducer) Poll(cx *sched.Context) (struct{}, error) {
	for {
		n, err := p.f.Poll(cx)
		if err != nil {
			return struct{}{}, err
		}
		if p.left -= n; p.left == 0 {
			p.tx.Close()
			return struct{}{}, nil
		}
		vs := p.vs[:min(p.left, len(p.vs))]
		for i := range vs {
			vs[i] = p.left - i
		}
		p.f.Reset(vs)
	}
}

func benchmarkMPMC(b *testing.B, senders, receivers, capacity int) {
	share := func(b *testing.B, i int) int { return (b.N + i) / senders }
	b.Run("tasks", func(b *testing.B) {
		rt := start(b, 0)
		b.ReportAllocs()
		tx, rx := chanx.NewBounded[int](capacity)
		var wg sync.WaitGroup
		wg.Add(receivers)
		for range receivers {
			sched.Spawn(rt, sched.Future[struct{}](&consumer{f: rx.RecvFuture(), done: &wg})).Detach()
		}
		for i := range senders {
			sched.Spawn(rt, sched.Future[struct{}](newProducer(tx, share(b, i)))).Detach()
		}
		tx.Close()
		wg.Wait()
	})
	b.Run("batch", func(b *testing.B) {
		rt := start(b, 0)
		b.ReportAllocs()
		tx, rx := chanx.NewBounded[int](capacity)
		var wg sync.WaitGroup
		wg.Add(receivers)
		for range receivers {
			buf := make([]int, 64)
			sched.Spawn(rt, sched.Future[struct{}](&batchConsumer{f: rx.RecvManyFuture(buf), buf: buf, done: &wg})).Detach()
		}
		for i := range senders {
			sched.Spawn(rt, sched.Future[struct{}](newProducer(tx, share(b, i)))).Detach()
		}
		tx.Close()
		wg.Wait()
	})
	b.Run("batches", func(b *testing.B) {
		rt := start(b, 0)
		b.ReportAllocs()
		tx, rx := chanx.NewBounded[int](capacity)
		var wg sync.WaitGroup
		wg.Add(receivers)
		for range receivers {
			buf := make([]int, 64)
			sched.Spawn(rt, sched.Future[struct{}](&batchConsumer{f: rx.RecvManyFuture(buf), buf: buf, done: &wg})).Detach()
		}
		for i := range senders {
			sched.Spawn(rt, sched.Future[struct{}](newBatchProducer(tx, share(b, i)))).Detach()
		}
		tx.Close()
		wg.Wait()
	})
	b.Run("stackful", func(b *testing.B) {
		rt := start(b, 0)
		b.ReportAllocs()
		tx, rx := chanx.NewBounded[int](capacity)
		var wg sync.WaitGroup
		wg.Add(receivers)
		for range receivers {
			sched.Go(rt, func(cx *sched.Context) (int, error) {
				defer wg.Done()
				got := 0
				for v := range rx.All(cx) {
					got += v
				}
				return got, nil
			}).Detach()
		}
		for i := range senders {
			mine := tx.Clone()
			sched.Go(rt, func(cx *sched.Context) (int, error) {
				defer mine.Close()
				for v := range share(b, i) {
					if err := mine.Send(cx, v); err != nil {
						return 0, err
					}
				}
				return 0, nil
			}).Detach()
		}
		tx.Close()
		wg.Wait()
	})
	b.Run("goroutines", func(b *testing.B) {
		b.ReportAllocs()
		ctx := context.Background()
		tx, rx := chanx.NewBounded[int](capacity)
		var wg sync.WaitGroup
		for range receivers {
			wg.Go(func() {
				got := 0
				for v := range rx.AllContext(ctx) {
					got += v
				}
			})
		}
		for i := range senders {
			mine := tx.Clone()
			wg.Go(func() {
				defer mine.Close()
				for v := range share(b, i) {
					if mine.SendContext(ctx, v) != nil {
						return
					}
				}
			})
		}
		tx.Close()
		wg.Wait()
	})
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

// A oneshot is made, sent to and received from, by one goroutine.
func BenchmarkOneshot(b *testing.B) {
	b.Run("oneshot", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			tx, rx := chanx.NewOneshot[int]()
			_ = tx.Send(nil, i)
			if v, err := rx.RecvContext(context.Background()); err != nil || v != i {
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

// One goroutine sends and receives by turns: what the operations cost without company.
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
			_ = tx.Send(nil, i)
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
