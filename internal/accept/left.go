package accept

import (
	"net/netip"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
)

// mostLeft bounds what a Socket takes at its end, if clients connect faster than it accepts.
const mostLeft = 4096

// takeLeft takes the connections that the kernel still holds, after the last Accept has ended and
// before the descriptor is closed.
//
// A connection may be there although another process, to which the listener was handed over, waits
// for one: io_uring waits exclusively, so the kernel tells one waiter of a connection. If it told
// the Accept that is canceled, nobody else would look before the next client connects. One that
// connects after the Accept's end wakes another waiter. If the worker was so slow that an inert
// socket took the descriptor's place, it takes them by a descriptor that was kept for that.
func (s *Socket) takeLeft(d *engine.Driver) {
	s.mu.Lock()
	from, inert := s.end.FD, s.inert
	if inert {
		from, s.kept = s.kept, 0
	}
	s.mu.Unlock()
	if from <= 0 {
		return
	}
	for range mostLeft {
		fd, errno := sock.AcceptLeft(from)
		if errno != 0 {
			break
		}
		s.take(d, Of(fd, netip.AddrPort{}))
	}
	if inert {
		sock.Close(from)
	}
}
