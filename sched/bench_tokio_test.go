package sched_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/suiro-go/suiro/sched"
)

// These are the workloads of Tokio's rt_multi_threaded benchmarks, with tasks and with goroutines.
// Compare /tasks with /goroutines.

// A latch is done when a given number of parties have arrived.
type latch struct {
	left atomic.Int64
	done chan struct{}
}

func newLatch(n int) *latch {
	l := &latch{done: make(chan struct{})}
	l.left.Store(int64(n))
	return l
}

func (l *latch) arrive() {
	if l.left.Add(-1) == 0 {
		close(l.done)
	}
}

func both(b *testing.B, tasks func(b *testing.B, rt *sched.Runtime), goroutines func(b *testing.B)) {
	b.Run("tasks", func(b *testing.B) {
		rt := start(b, sched.Config{})
		b.ReportAllocs()
		tasks(b, rt)
	})
	b.Run("goroutines", func(b *testing.B) {
		b.ReportAllocs()
		goroutines(b)
	})
}

// Nothing is a future that is always done.
type nothing struct{}

func (nothing) Poll(*sched.Context) (int, error) { return 0, nil }

// A spawner spawns a number of tasks from a task, and lets them run in between.
type spawner struct{ left int }

func (s *spawner) Poll(cx *sched.Context) (int, error) {
	for range 64 {
		if s.left == 0 {
			return 0, nil
		}
		s.left--
		sched.Spawn(cx, sched.Future[int](nothing{})).Detach()
	}
	cx.Wake(cx.Waker())
	return 0, sched.ErrPending
}

// A task spawns tasks on one worker: the cost per spawn and run.
func BenchmarkSpawnLocal(b *testing.B) {
	b.Run("tasks", func(b *testing.B) {
		rt := start(b, sched.Config{Workers: 1})
		b.ReportAllocs()
		if _, err := sched.Spawn(rt, sched.Future[int](&spawner{b.N})).Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("goroutines", func(b *testing.B) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		b.ReportAllocs()
		var wg sync.WaitGroup
		for left := b.N; left > 0; {
			for range min(64, left) {
				wg.Go(func() {})
				left--
			}
			runtime.Gosched()
		}
		wg.Wait()
	})
}

// A yielder yields a number of times.
type yielder struct {
	left  int
	latch *latch
	yield sched.Future[struct{}]
}

func (y *yielder) Poll(cx *sched.Context) (int, error) {
	if y.yield != nil {
		_, _ = y.yield.Poll(cx)
	}
	if y.left == 0 {
		y.latch.arrive()
		return 0, nil
	}
	y.left--
	y.yield = sched.Yield()
	_, err := y.yield.Poll(cx)
	return 0, err
}

// 200 tasks yield 1,000 times each.
func BenchmarkYieldMany(b *testing.B) {
	const tasks, yields = 200, 1000
	both(b, func(b *testing.B, rt *sched.Runtime) {
		for range b.N {
			l := newLatch(tasks)
			for range tasks {
				sched.Spawn(rt, sched.Future[int](&yielder{left: yields, latch: l})).Detach()
			}
			<-l.done
		}
	}, func(b *testing.B) {
		for range b.N {
			l := newLatch(tasks)
			for range tasks {
				go func() {
					for range yields {
						runtime.Gosched()
					}
					l.arrive()
				}()
			}
			<-l.done
		}
	})
}

// A oneshot passes one signal to one task.
type oneshot struct {
	mu    sync.Mutex
	sent  bool
	waker sched.Waker
}

func (o *oneshot) send(cx *sched.Context) {
	o.mu.Lock()
	o.sent = true
	w := o.waker
	o.mu.Unlock()
	cx.Wake(w)
}

func (o *oneshot) Poll(cx *sched.Context) (struct{}, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.sent {
		o.waker = cx.Waker()
		return struct{}{}, sched.ErrPending
	}
	return struct{}{}, nil
}

// A ping spawns a pong, signals it and awaits its signal.
type ping struct {
	latch *latch
	there oneshot
	back  oneshot
	began bool
}

func (p *ping) Poll(cx *sched.Context) (int, error) {
	if !p.began {
		p.began = true
		sched.Spawn(cx, sched.Future[int]((*pong)(p))).Detach()
		p.there.send(cx)
	}
	if _, err := p.back.Poll(cx); err != nil {
		return 0, err
	}
	p.latch.arrive()
	return 0, nil
}

type pong ping

func (p *pong) Poll(cx *sched.Context) (int, error) {
	if _, err := p.there.Poll(cx); err != nil {
		return 0, err
	}
	p.back.send(cx)
	return 0, nil
}

// A pinger spawns pings.
type pinger struct {
	n     int
	latch *latch
}

func (p *pinger) Poll(cx *sched.Context) (int, error) {
	for range p.n {
		sched.Spawn(cx, sched.Future[int](&ping{latch: p.latch})).Detach()
	}
	return 0, nil
}

// 1,000 pairs exchange a signal each way.
func BenchmarkPingPong(b *testing.B) {
	const pings = 1000
	both(b, func(b *testing.B, rt *sched.Runtime) {
		for range b.N {
			l := newLatch(pings)
			sched.Spawn(rt, sched.Future[int](&pinger{pings, l})).Detach()
			<-l.done
		}
	}, func(b *testing.B) {
		for range b.N {
			l := newLatch(pings)
			go func() {
				for range pings {
					go func() {
						there, back := make(chan struct{}, 1), make(chan struct{}, 1)
						go func() {
							<-there
							back <- struct{}{}
						}()
						there <- struct{}{}
						<-back
						l.arrive()
					}()
				}
			}()
			<-l.done
		}
	})
}

// A link of a chain spawns the next.
type link struct {
	left  int
	latch *latch
}

func (c *link) Poll(cx *sched.Context) (int, error) {
	if c.left == 0 {
		c.latch.arrive()
	} else {
		c.left--
		sched.Spawn(cx, sched.Future[int](c)).Detach()
	}
	return 0, nil
}

func chain(left int, l *latch) {
	if left == 0 {
		l.arrive()
	} else {
		go chain(left-1, l)
	}
}

// A chain of 1,000 tasks; each one spawns the next.
func BenchmarkChainedSpawn(b *testing.B) {
	const length = 1000
	both(b, func(b *testing.B, rt *sched.Runtime) {
		for range b.N {
			l := newLatch(1)
			sched.Spawn(rt, sched.Future[int](&link{length, l})).Detach()
			<-l.done
		}
	}, func(b *testing.B) {
		for range b.N {
			l := newLatch(1)
			go chain(length, l)
			<-l.done
		}
	})
}

type arriver struct{ *latch }

func (a arriver) Poll(*sched.Context) (int, error) {
	a.arrive()
	return 0, nil
}

// 10,000 tasks are spawned from outside.
func BenchmarkSpawnManyRemote(b *testing.B) {
	const tasks = 10_000
	both(b, func(b *testing.B, rt *sched.Runtime) {
		for range b.N {
			l := newLatch(tasks)
			for range tasks {
				sched.Spawn(rt, sched.Future[int](arriver{l})).Detach()
			}
			<-l.done
		}
	}, func(b *testing.B) {
		for range b.N {
			l := newLatch(tasks)
			for range tasks {
				go l.arrive()
			}
			<-l.done
		}
	})
}
