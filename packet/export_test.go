package packet

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/dumptext"
	"github.com/suiro-go/suiro/internal/ready"
	"github.com/suiro-go/suiro/sched"
)

// DumpOf returns a function that writes a socket's part of a report, also after the socket's end.
func DumpOf(h Handle) func() string {
	c := h.conn()
	return func() string {
		var text dumptext.Text
		(*target)(c).Dump(&text)
		return text.String()
	}
}

// AwaitClosed closes the socket of a send whose timer runs, and lets the send wait once more. It
// reports whether the timer still runs, and the error of the wait.
func AwaitClosed(cx *sched.Context, s *UDPSocket) (left bool, err error) {
	b := &backoff{rt: cx.Runtime()}
	b.start(cx)
	r := &retry{backoff: b}
	_ = s.sock.Close()
	err = r.await(cx, &s.caller, ready.Out, true)
	return b.on, err
}

// KeepError ends a read that has received nothing but an error of later datagrams. A system whose
// calls receive single datagrams keeps such errors.
func KeepError(s *Socket, errno syscall.Errno) error {
	if _, err := s.udp.sock.Enter(ready.In, new(ready.Attempt)); err != nil {
		return err
	}
	s.arrived.mu.Lock()
	s.arrived.err = errno
	s.leave(nil)
	return nil
}

// HasArrivals reports whether a Socket keeps datagrams.
func HasArrivals(s *Socket) bool {
	s.arrived.mu.Lock()
	defer s.arrived.mu.Unlock()
	return s.arrived.room != nil
}
