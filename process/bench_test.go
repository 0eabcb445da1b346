package process_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// A counter ends after so many messages.
type counter struct {
	left int
	done chan struct{}
}

func (c *counter) Init(context.Context, string, any) error { return nil }
func (c *counter) Close()                                  {}

func (c *counter) Step(events []process.Event, out *process.StepOutput) error {
	c.left -= len(events)
	out.Status = process.Idle
	if c.left <= 0 {
		close(c.done)
		out.Status = process.Complete
	}
	return nil
}

type token struct{ _ int }

// The producers are goroutines that send a pooled message to one process.
func BenchmarkFanIn(b *testing.B) {
	for _, producers := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("goroutines=%d", producers), func(b *testing.B) {
			s := newSystem(b, 2, process.Config{Mailbox: -1})
			c := &counter{left: b.N / producers * producers, done: make(chan struct{})}
			if b.N < producers {
				c.left = producers
			}
			pid, _ := process.Start(s, c, process.Options{})
			m := &token{}
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for range producers {
				wg.Go(func() {
					for range max(1, b.N/producers) {
						if err := s.TrySend(pid, m); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			<-c.done
		})
	}
}

func BenchmarkFanInChannel(b *testing.B) {
	for _, producers := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("goroutines=%d", producers), func(b *testing.B) {
			ch := make(chan *token, 1024)
			m := &token{}
			b.ReportAllocs()
			for range producers {
				go func() {
					for range max(1, b.N/producers) {
						ch <- m
					}
				}()
			}
			for range max(1, b.N/producers) * producers {
				<-ch
			}
		})
	}
}

// A ponger answers each message to the partner in it.
type ponger struct {
	self *process.Self
	peer process.PID
	left int
	done chan struct{}
}

func (p *ponger) Init(ctx context.Context, _ string, _ any) error {
	p.self = process.FromContext(ctx)
	return nil
}
func (p *ponger) Close() {}

func (p *ponger) Step(events []process.Event, out *process.StepOutput) error {
	out.Status = process.Idle
	for _, ev := range events {
		if from, ok := ev.Data.(process.PID); ok {
			p.peer = from
			continue
		}
		if p.left--; p.left == 0 {
			close(p.done)
		}
		_ = p.self.TrySend(p.peer, ev.Data)
	}
	return nil
}

func BenchmarkPingPong(b *testing.B) {
	for _, pairs := range []int{1, 64} {
		b.Run(fmt.Sprintf("pairs=%d", pairs), func(b *testing.B) {
			s := newSystem(b, 2, process.Config{})
			var all []*ponger
			var pids []process.PID
			for range pairs {
				x, y := &ponger{left: -1}, &ponger{left: max(1, b.N/pairs/2), done: make(chan struct{})}
				px, _ := process.Start(s, x, process.Options{})
				py, _ := process.Start(s, y, process.Options{})
				_ = s.TrySend(px, py)
				_ = s.TrySend(py, px)
				all, pids = append(all, y), append(pids, px)
			}
			m := &token{}
			b.ReportAllocs()
			b.ResetTimer()
			for _, pid := range pids {
				_ = s.TrySend(pid, m)
			}
			for _, y := range all {
				<-y.done
			}
			b.StopTimer()
			for _, pid := range pids {
				_ = s.Kill(pid)
			}
		})
	}
}

func BenchmarkPingPongFunctions(b *testing.B) {
	s := newSystem(b, 2, process.Config{})
	echo, _ := process.Go(s, process.Options{}, func(cx *sched.Context, self *process.Inbox[any]) error {
		var peer process.PID
		for {
			m, err := self.Receive(cx)
			if err != nil {
				return err
			}
			if pid, ok := m.(process.PID); ok {
				peer = pid
				continue
			}
			_ = self.TrySend(peer, m)
		}
	})
	done := make(chan struct{})
	m := &token{}
	b.ReportAllocs()
	_, _ = process.Go(s, process.Options{}, func(cx *sched.Context, self *process.Inbox[any]) error {
		defer close(done)
		_ = self.TrySend(echo.PID(), self.PID())
		for range b.N {
			_ = self.TrySend(echo.PID(), m)
			if _, err := self.Receive(cx); err != nil {
				return err
			}
		}
		return nil
	})
	<-done
}

type idler struct{}

func (idler) Init(context.Context, string, any) error { return nil }
func (idler) Close()                                  {}
func (idler) Step(_ []process.Event, out *process.StepOutput) error {
	out.Status = process.Idle
	return nil
}

func BenchmarkSpawn(b *testing.B) {
	s := newSystem(b, 2, process.Config{})
	b.ReportAllocs()
	for range b.N {
		_, _ = process.Start(s, idler{}, process.Options{})
	}
	b.StopTimer()
}

func BenchmarkIdleMemory(b *testing.B) {
	s := newSystem(b, 2, process.Config{})
	var before, after runtime.MemStats
	const n = 100000
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range n {
		_, _ = process.Start(s, idler{}, process.Options{})
	}
	for s.Runtime().Stats().Total.Queued > 0 {
		runtime.Gosched()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/process")
}
