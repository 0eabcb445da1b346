package process

import (
	"sync"
	"time"

	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/internal/panics"
	"github.com/suiro-go/suiro/sched"
)

// A Delayed is a message that is to be sent.
type Delayed struct{ m *delayed }

// delays are the messages that are to be sent. The call that takes a message off the list sends,
// drops or stops it: its timer, Shutdown, or Delayed.Stop.
type delays struct {
	mu   sync.Mutex
	all  list.List[*delayed]
	over bool // Shutdown has dropped all: nobody will receive any
}

type delayed struct {
	sys     *System
	to      PID
	message any
	timer   *sched.FuncTimer
	place   list.Node[*delayed]
}

// SendAfter sends a message when d has passed: never early, and usually within 2 ms. If the process
// has ended by then, its mailbox is full or the system shuts down, the message goes to
// Config.Dropped.
func (s *System) SendAfter(d time.Duration, to PID, message any) Delayed {
	m := &delayed{sys: s, to: to, message: message}
	m.place.Value = m
	if !s.delays.start(m, d) {
		s.drop(to, Event{Data: message}, ErrNoProcess)
	}
	return Delayed{m}
}

// Stop prevents the send, and reports whether it did.
func (d Delayed) Stop() bool {
	if !d.m.sys.delays.take(d.m) {
		return false
	}
	d.m.timer.Stop()
	return true
}

// start reports whether the message will be sent.
func (ds *delays) start(m *delayed, d time.Duration) bool {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.over || m.sys.rt.Start() != nil {
		return false
	}
	ds.all.PushBack(&m.place)
	m.timer = m.sys.rt.AfterFunc(d, m.send)
	return true
}

// take reports whether the message was on the list.
func (ds *delays) take(m *delayed) bool {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	return ds.all.Remove(&m.place)
}

// takeFirst is for the end of the system. nil: no message is left, and none will come.
func (ds *delays) takeFirst() *delayed {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.over = true
	n := ds.all.Front()
	if n == nil {
		return nil
	}
	ds.all.Remove(n)
	return n.Value
}

// send runs on a goroutine of its own. The Remote may call functions of the user.
func (m *delayed) send() {
	s := m.sys
	if !s.delays.take(m) {
		return
	}
	err := sched.ErrGoexit
	defer func() {
		if err != nil {
			s.drop(m.to, Event{Data: m.message}, err)
		}
	}()
	if p := panics.Try(func() { err = s.trySend(nil, m.to, m.message) }); p != nil {
		err = (*sched.PanicError)(p)
		s.cfg.Logger.Error("process: a send panicked", "to", m.to.String(), "panic", p.Value, "stack", string(p.Stack))
	}
}

// dropDelayed drops the messages that are yet to be sent, even if Config.Dropped calls
// runtime.Goexit.
func (s *System) dropDelayed() {
	over := false
	defer func() {
		if !over {
			s.dropDelayed()
		}
	}()
	for m := s.delays.takeFirst(); m != nil; m = s.delays.takeFirst() {
		m.timer.Stop()
		s.drop(m.to, Event{Data: m.message}, ErrNoProcess)
	}
	over = true
}
