package accept

import (
	"fmt"

	"github.com/suiro-go/suiro/internal/dumptext"
	"github.com/suiro-go/suiro/internal/engine"
)

var _ engine.Dumper = (*Socket)(nil)

// Dump implements engine.Dumper.
func (s *Socket) Dump(text *dumptext.Text) {
	where := fmt.Sprintf("%#x fd %d listener %v on worker %d", s.end.Token, s.end.FD, s.Addr, s.on.Load())
	if !text.Lock(&s.mu) {
		text.Linef(1, "%s: busy", where)
		return
	}
	spare, ended, errno, stop, gone := len(s.spare), s.ended, s.errno, s.stop, s.gone
	s.mu.Unlock()
	text.Linef(1, "%s: %d wait for room, the accept has ended %v (errno %d), Close was called %v, closed %v", where, spare, ended, errno, stop, gone)
}
