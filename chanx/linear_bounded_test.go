//go:build !explore

package chanx_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/suiro-go/suiro/chanx"
)

// A fifo has the operations of a bounded channel that are checked.
type fifo interface {
	send(v int) bool // waits; false: closed
	recv() (int, bool)
	trySend(v int) string // "ok" or "full"
	tryRecv() (int, string)
}

type realFifo struct {
	tx *chanx.Sender[int]
	rx *chanx.Receiver[int]
}

func newRealFifo(capacity int) fifo {
	tx, rx := chanx.NewBounded[int](capacity)
	return realFifo{tx, rx}
}

func (f realFifo) send(v int) bool { return f.tx.Send(context.Background(), v) == nil }
func (f realFifo) recv() (int, bool) {
	v, err := f.rx.Recv(context.Background())
	return v, err == nil
}
func (f realFifo) trySend(v int) string {
	if f.tx.TrySend(v) != nil {
		return "full"
	}
	return "ok"
}
func (f realFifo) tryRecv() (int, string) {
	v, err := f.rx.TryRecv()
	if err != nil {
		return 0, "empty"
	}
	return v, "ok"
}

// A wrongFifo makes a mistake: it returns the last value first, has one place too many, or reports
// that it is empty while it has one value.
type wrongFifo struct {
	mu       sync.Mutex
	values   []int
	capacity int
	lifo     bool
	blind    bool
}

func (f *wrongFifo) trySend(v int) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.values) == f.capacity {
		return "full"
	}
	f.values = append(f.values, v)
	return "ok"
}

func (f *wrongFifo) tryRecv() (int, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.values) == 0 || f.blind && len(f.values) == 1 {
		return 0, "empty"
	}
	at := 0
	if f.lifo {
		at = len(f.values) - 1
	}
	v := f.values[at]
	f.values = slices.Delete(f.values, at, at+1)
	return v, "ok"
}

func (f *wrongFifo) send(v int) bool {
	for f.trySend(v) != "ok" {
	}
	return true
}

func (f *wrongFifo) recv() (int, bool) {
	for {
		if v, is := f.tryRecv(); is == "ok" {
			return v, true
		}
	}
}

const linearCapacity = 2

// fifoModel is a queue of fixed capacity. Its state is the list of values, in order.
var fifoModel = porcupine.Model{
	Init: func() any { return []int(nil) },
	Step: func(state, in, out any) (bool, any) {
		values, i, o := state.([]int), in.(act), out.(act)
		switch {
		case o.what == "full":
			return len(values) == linearCapacity, values
		case o.what == "empty":
			return len(values) == 0, values
		case i.what == "send":
			return len(values) < linearCapacity, append(slices.Clone(values), i.value)
		default:
			return len(values) > 0 && values[0] == o.value, values[min(1, len(values)):]
		}
	},
	Equal: func(a, b any) bool { return slices.Equal(a.([]int), b.([]int)) },
}

// playTries makes four clients try to send and receive.
func playTries(t *testing.T, q fifo, h *history) {
	client := func(c int) {
		for i := range 5 {
			v := 10*c + i + 1
			if (c+i)%2 == 0 {
				h.do(act{"send", c, v}, func() act { return act{what: q.trySend(v)} })
			} else {
				h.do(act{"recv", c, 0}, func() act { v, is := q.tryRecv(); return act{what: is, value: v} })
			}
		}
	}
	h.together(t, client, client, client, client)
}

// playWaits makes two clients send and two receive, and all of them wait.
func playWaits(t *testing.T, q fifo, h *history) {
	send := func(c int) {
		for i := range 5 {
			v := 10*c + i + 1
			h.do(act{"send", c, v}, func() act { q.send(v); return act{what: "ok"} })
		}
	}
	recv := func(c int) {
		for range 5 {
			h.do(act{"recv", c, 0}, func() act { v, _ := q.recv(); return act{what: "ok", value: v} })
		}
	}
	h.together(t, send, send, recv, recv)
}

func TestABoundedChannelIsLinearizable(t *testing.T) {
	for name, play := range map[string]func(*testing.T, fifo, *history){"trying": playTries, "waiting": playWaits} {
		t.Run(name, func(t *testing.T) {
			linearizable(t, fifoModel, func(h *history) { play(t, newRealFifo(linearCapacity), h) })
		})
		for mistake, q := range map[string]func() fifo{
			"last in first out": func() fifo { return &wrongFifo{capacity: linearCapacity, lifo: true} },
			"one too many":      func() fifo { return &wrongFifo{capacity: linearCapacity + 1} },
		} {
			t.Run(name+", a mistake: "+mistake, func(t *testing.T) {
				rejected(t, fifoModel, func(h *history) { play(t, q(), h) })
			})
		}
	}
	t.Run("trying, a mistake: blind", func(t *testing.T) {
		rejected(t, fifoModel, func(h *history) {
			playTries(t, &wrongFifo{capacity: linearCapacity, blind: true}, h)
		})
	})
}
