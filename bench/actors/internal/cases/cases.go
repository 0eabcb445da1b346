// Package cases has the benchmarks of all actor libraries.
package cases

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/suiro-go/suiro/process"
)

// A Message is always the same pointer, so that no case allocates it.
type Message struct{ _ int }

// A Receiver handles a message. send sends it on, from the receiving actor.
type Receiver func(send func(to any), m *Message)

// A System runs actors.
type System interface {
	Spawn(Receiver) (address any)
	Send(to any, m *Message) // from a goroutine
	Stop(address any)
	Close()
}

// A Library is one case.
type Library struct {
	Name string
	Make func() (System, error)
}

// These are the cases without a library of others. Bounded is Suiro with mailboxes of 1,024
// messages, its default, and senders that wait for room; Suiro and those of others have no limit.
var (
	Suiro    = Library{"suiro", newSuiro}
	Bounded  = Library{"suiro-bounded", newBounded}
	Channels = Library{"channels", newChannels}
)

// each runs a benchmark for all systems.
func each(b *testing.B, all []Library, bench func(b *testing.B, s System)) {
	for _, s := range all {
		b.Run(s.Name, func(b *testing.B) {
			sys, err := s.Make()
			if err != nil {
				b.Fatal(err)
			}
			defer sys.Close()
			b.ReportAllocs()
			bench(b, sys)
		})
	}
}

// PingPong sends a message back and forth between two actors. One operation is one message.
func PingPong(b *testing.B, libraries ...Library) {
	each(b, libraries, func(b *testing.B, s System) {
		var ping, pong any
		done := make(chan struct{})
		n := 0
		pong = s.Spawn(func(send func(any), _ *Message) { send(ping) })
		ping = s.Spawn(func(send func(any), _ *Message) {
			if n += 2; n >= b.N {
				close(done)
				return
			}
			send(pong)
		})
		b.ResetTimer()
		s.Send(pong, &Message{})
		<-done
		b.StopTimer()
		s.Stop(ping)
		s.Stop(pong)
	})
}

// FanIn sends from two goroutines to one actor.
func FanIn(b *testing.B, libraries ...Library) {
	each(b, libraries, func(b *testing.B, s System) {
		const senders = 2
		left := max(1, b.N/senders) * senders
		done := make(chan struct{})
		to := s.Spawn(func(func(any), *Message) {
			if left--; left == 0 {
				close(done)
			}
		})
		m := &Message{}
		b.ResetTimer()
		var all sync.WaitGroup
		for range senders {
			all.Go(func() {
				for range max(1, b.N/senders) {
					s.Send(to, m)
				}
			})
		}
		all.Wait()
		<-done
		b.StopTimer()
		s.Stop(to)
	})
}

// Spawn starts actors. The first run and the end do not count.
func Spawn(b *testing.B, libraries ...Library) {
	each(b, libraries, func(b *testing.B, s System) {
		all := make([]any, 0, b.N)
		for range b.N {
			all = append(all, s.Spawn(func(func(any), *Message) {}))
		}
		b.StopTimer()
		for _, a := range all {
			s.Stop(a)
		}
	})
}

// Idle measures the memory of actors that have received one message and wait: heap and stacks.
func Idle(b *testing.B, libraries ...Library) {
	const actors = 10_000
	each(b, libraries, func(b *testing.B, s System) {
		for range b.N {
			before := used()
			var received sync.WaitGroup
			received.Add(actors)
			all := make([]any, 0, actors)
			for range actors {
				a := s.Spawn(func(func(any), *Message) { received.Done() })
				s.Send(a, &Message{})
				all = append(all, a)
			}
			received.Wait()
			b.ReportMetric(float64(used()-before)/actors, "B/actor")
			for _, a := range all {
				s.Stop(a)
			}
		}
	})
}

func used() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// Suiro.
type suiro struct{ sys *process.System }

func newSuiro() (System, error) {
	return suiro{process.New(process.Config{Mailbox: -1, Grace: -1})}, nil
}

// bounded is suiro with limited mailboxes.
type bounded struct{ suiro }

func newBounded() (System, error) {
	return bounded{suiro{process.New(process.Config{Overflow: process.OverflowWait, Grace: -1})}}, nil
}

func (s bounded) Send(to any, m *Message) {
	_ = s.sys.Send(context.Background(), to.(process.PID), m)
}

type suiroActor struct {
	receive Receiver
	self    *process.Self
	now     *Message
	reply   func(to any)
}

func (a *suiroActor) Init(ctx context.Context, _ string, _ any) error {
	a.self = process.FromContext(ctx)
	a.reply = func(to any) { _ = a.self.TrySend(to.(process.PID), a.now) }
	return nil
}

func (a *suiroActor) Step(events []process.Event, out *process.StepOutput) error {
	out.Status = process.Idle
	for i := range events {
		if m, ok := events[i].Data.(*Message); ok {
			a.now = m
			a.receive(a.reply, m)
		}
	}
	return nil
}

func (a *suiroActor) Close() {}

func (s suiro) Spawn(r Receiver) any {
	pid, err := process.Start(s.sys, &suiroActor{receive: r}, process.Options{})
	if err != nil {
		panic(err)
	}
	return pid
}

func (s suiro) Send(to any, m *Message) { _ = s.sys.TrySend(to.(process.PID), m) }
func (s suiro) Stop(a any)              { _ = s.sys.Kill(a.(process.PID)) }
func (s suiro) Close()                  { _ = s.sys.Shutdown(context.Background()) }

// A goroutine with a channel of 1024 messages.
type channels struct{}

func newChannels() (System, error) { return channels{}, nil }

func (channels) Spawn(r Receiver) any {
	c := make(chan *Message, channelRoom)
	go func() {
		for m := range c {
			r(func(to any) { to.(chan *Message) <- m }, m)
		}
	}()
	return c
}

const channelRoom = 1024

func (channels) Send(to any, m *Message) { to.(chan *Message) <- m }
func (channels) Stop(a any)              { close(a.(chan *Message)) }
func (channels) Close()                  {}

// Check lets a message go around three actors of each library.
func Check(t *testing.T, libraries ...Library) {
	for _, l := range libraries {
		t.Run(l.Name, func(t *testing.T) {
			s, err := l.Make()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			const rounds = 100
			n, m, done := 0, &Message{}, make(chan *Message, 1)
			var first any
			third := s.Spawn(func(send func(any), m *Message) {
				if n++; n == rounds {
					done <- m
					return
				}
				send(first)
			})
			second := s.Spawn(func(send func(any), _ *Message) { send(third) })
			first = s.Spawn(func(send func(any), _ *Message) { send(second) })
			s.Send(first, m)
			if got := <-done; got != m {
				t.Error("another message")
			}
			for _, a := range []any{first, second, third} {
				s.Stop(a)
			}
		})
	}
}
