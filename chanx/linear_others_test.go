//go:build !explore

package chanx_test

import (
	"context"
	"sync"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/suiro-go/suiro/chanx"
)

func said(err error) string {
	switch err {
	case nil:
		return "ok"
	case chanx.ErrEmpty:
		return "empty"
	default:
		return "closed"
	}
}

// A single has the operations of a oneshot that are checked.
type single interface {
	Send(v int) error
	TryRecv() (int, error)
	Close() // of the receiver
}

type realSingle struct {
	tx *chanx.OneshotSender[int]
	*chanx.OneshotReceiver[int]
}

func (s realSingle) Send(v int) error { return s.tx.Send(context.Background(), v) }

// A wrongSingle accepts a value when nobody will receive it, or returns one twice.
type wrongSingle struct {
	mu                          sync.Mutex
	receiverClosed, sent, taken bool
	value                       int
	accepts, givesMore          bool
}

func (s *wrongSingle) Send(v int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.receiverClosed && !s.accepts {
		return chanx.ErrClosed
	}
	s.sent, s.value = true, v
	return nil
}

func (s *wrongSingle) TryRecv() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.taken && !s.givesMore:
		return 0, chanx.ErrClosed
	case s.sent && !(s.receiverClosed && s.accepts):
		s.taken = true
		return s.value, nil
	case s.receiverClosed:
		return 0, chanx.ErrClosed
	default:
		return 0, chanx.ErrEmpty
	}
}

func (s *wrongSingle) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receiverClosed = true
}

type singleState struct {
	sent, taken, receiverClosed bool
	value                       int
}

var singleModel = porcupine.Model{
	Init: func() any { return singleState{} },
	Step: func(state, in, out any) (bool, any) {
		s, i, o := state.(singleState), in.(act), out.(act)
		switch {
		case i.what == "close":
			s.receiverClosed = true
			return true, s
		case i.what == "send" && s.receiverClosed:
			return o.what == "closed", s
		case i.what == "send":
			s.sent, s.value = true, i.value
			return o.what == "ok", s
		case s.sent && !s.taken:
			s.taken = true
			return o.what == "ok" && o.value == s.value, s
		case s.taken || s.receiverClosed:
			return o.what == "closed", s
		default:
			return o.what == "empty", s
		}
	},
}

func playSingle(t *testing.T, s single, h *history) {
	recv := func() {
		h.do(act{what: "recv", client: 1}, func() act { v, err := s.TryRecv(); return act{what: said(err), value: v} })
	}
	h.together(t,
		func(c int) { h.do(act{"send", c, 7}, func() act { return act{what: said(s.Send(7))} }) },
		func(c int) {
			recv()
			recv()
			h.do(act{what: "close", client: c}, func() act { s.Close(); return act{} })
			recv()
			recv()
		})
}

func TestAOneshotIsLinearizable(t *testing.T) {
	linearizable(t, singleModel, func(h *history) {
		tx, rx := chanx.NewOneshot[int]()
		playSingle(t, realSingle{tx, rx}, h)
	})
	for mistake, make := range map[string]func() *wrongSingle{
		"accepts what nobody receives": func() *wrongSingle { return &wrongSingle{accepts: true} },
		"gives it more than once":      func() *wrongSingle { return &wrongSingle{givesMore: true} },
	} {
		t.Run("a mistake: "+mistake, func(t *testing.T) {
			rejected(t, singleModel, func(h *history) { playSingle(t, make(), h) })
		})
	}
}

// A latest has the operations of a watch channel that are checked, with two receivers.
type latest interface {
	send(v int)
	value() int
	tryRecv(receiver int) (int, error)
}

type realLatest struct {
	tx *chanx.WatchSender[int]
	rx [2]*chanx.WatchReceiver[int]
}

func newRealLatest() latest {
	tx, rx := chanx.NewWatch(0)
	return realLatest{tx, [2]*chanx.WatchReceiver[int]{rx, rx.Clone()}}
}

func (l realLatest) send(v int)                 { _ = l.tx.Send(context.Background(), v) }
func (l realLatest) value() int                 { return l.tx.Value() }
func (l realLatest) tryRecv(r int) (int, error) { return l.rx[r].TryRecv() }

// A wrongLatest returns the value before the latest, or a value that was already seen.
type wrongLatest struct {
	mu            sync.Mutex
	now, last     int
	version       int
	seen          [2]int
	stale, forget bool
}

func (l *wrongLatest) send(v int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now, l.last = v, l.now
	l.version++
}

func (l *wrongLatest) value() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stale {
		return l.last
	}
	return l.now
}

func (l *wrongLatest) tryRecv(r int) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[r] == l.version {
		return 0, chanx.ErrEmpty
	}
	if !l.forget {
		l.seen[r] = l.version
	}
	return l.now, nil
}

type latestState struct {
	value, version int
	seen           [2]int
}

var latestModel = porcupine.Model{
	Init: func() any { return latestState{} },
	Step: func(state, in, out any) (bool, any) {
		s, i, o := state.(latestState), in.(act), out.(act)
		switch {
		case i.what == "send":
			s.value = i.value
			s.version++
			return true, s
		case i.what == "value":
			return o.value == s.value, s
		case s.seen[i.client] == s.version:
			return o.what == "empty", s
		default:
			s.seen[i.client] = s.version
			return o.what == "ok" && o.value == s.value, s
		}
	},
}

func playLatest(t *testing.T, l latest, h *history) {
	recv := func(c int) {
		for range 4 {
			h.do(act{what: "recv", client: c}, func() act {
				v, err := l.tryRecv(c)
				return act{what: said(err), value: v}
			})
		}
	}
	send := func(c int) {
		for i := range 4 {
			v := 10*c + i + 1
			h.do(act{"send", c, v}, func() act { l.send(v); return act{} })
			h.do(act{what: "value", client: c}, func() act { return act{value: l.value()} })
		}
	}
	h.together(t, recv, recv, send, send)
}

func TestAWatchIsLinearizable(t *testing.T) {
	linearizable(t, latestModel, func(h *history) { playLatest(t, newRealLatest(), h) })
	for mistake, l := range map[string]func() latest{
		"gives the value before the latest": func() latest { return &wrongLatest{stale: true} },
		"forgets what was seen":             func() latest { return &wrongLatest{forget: true} },
	} {
		t.Run("a mistake: "+mistake, func(t *testing.T) {
			rejected(t, latestModel, func(h *history) { playLatest(t, l(), h) })
		})
	}
}
