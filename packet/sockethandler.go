package packet

import (
	"net"
	"net/netip"

	"github.com/suiro-go/suiro/internal/waiter"
	"github.com/suiro-go/suiro/reactor"
)

// socketHandler is the worker's side of a Socket.
type socketHandler struct {
	Base
	s *Socket
}

// OnPackets gives each datagram to the read that has waited for longest, straight from the
// reactor's memory. What nobody waits for is kept, as a copy.
func (h socketHandler) OnPackets(_ *Conn, batch []Packet) error {
	var u waiter.Wakeup
	s := h.s
	s.mu.Lock()
	for _, p := range batch {
		if w := s.readers.Take(); w != nil {
			w.N, w.From = copy(w.P, p.Data), p.From
			u.Add(w)
			continue
		}
		if s.bytes >= s.room {
			s.dropped++
			continue
		}
		s.bytes += len(p.Data) + cost
		s.queue.Push(datagram{append([]byte(nil), p.Data...), p.From})
	}
	s.mu.Unlock()
	u.Wake()
	return nil
}

// OnError is told only what the network says: each write has its own answer.
func (h socketHandler) OnError(_ *Conn, err error) error {
	s := h.s
	s.mu.Lock()
	w := s.readers.Take()
	if w != nil {
		w.Err = err
	} else {
		s.failed = err
	}
	s.mu.Unlock()
	if w != nil {
		w.Wake()
	}
	return nil
}

// OnClose ends the reads. Each write has had its answer.
func (h socketHandler) OnClose(*Conn, error) {
	var u waiter.Wakeup
	s := h.s
	s.mu.Lock()
	s.gone = true
	u.AddAll(&s.readers, net.ErrClosed)
	u.AddAll(&s.writers, net.ErrClosed)
	s.readBy.Stop() // a timer of it would keep the Socket
	s.writeBy.Stop()
	s.mu.Unlock()
	u.Wake()
	close(s.ended)
}

// An asker is a write of a Socket, which waits to know what became of its datagram. The zero
// value is nobody.
type asker struct {
	s *Socket
	w *waiter.Waiter
}

// write queues the datagram of a write that still waits. One that has given up has its
// buffer back: nothing is sent for it.
func (a asker) write(c *Conn, to netip.AddrPort) {
	a.s.mu.Lock()
	if !a.w.Listed() {
		a.s.mu.Unlock()
		return
	}
	err := c.write(to, func(b *reactor.Batch) error {
		b.Join = false // the answer is that of this datagram alone
		defer func() { b.Join = true }()
		return b.Add(a.w.P, to)
	})
	a.s.mu.Unlock()
	if err != nil {
		a.tell(err)
		return
	}
	c.notes = append(c.notes, note{c.out.Len() - 1, a})
}

// tell answers a write, unless that has given up.
func (a asker) tell(err error) {
	a.s.mu.Lock()
	waits := a.s.writers.Remove(a.w)
	if waits {
		a.w.Err = err
	}
	a.s.mu.Unlock()
	if waits {
		a.w.Wake()
	}
}
