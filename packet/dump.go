package packet

import (
	"fmt"

	"github.com/suiro-go/suiro/internal/dumptext"
	"github.com/suiro-go/suiro/internal/engine"
)

var _ engine.Dumper = (*target)(nil)

// Dump implements engine.Dumper.
func (t *target) Dump(text *dumptext.Text) {
	c := (*Conn)(t)
	where := fmt.Sprintf("packet socket %v, %s", c.local, engine.HandlerName(c.handler))
	if c.peer.IsValid() {
		where += fmt.Sprintf(" of %v", c.peer)
	}
	if !text.Lock(&c.mu) {
		text.Linef(1, "%#x %s: busy", c.end.Token, where)
		return
	}
	in, fd := &c.inbox, -1
	if !in.gone { // else the task may change FD
		fd = c.end.FD
	}
	state := []any{c.end.Token, fd, where, len(in.chunks), len(in.commands), in.queued, in.flight != nil, in.recvErrno, in.closed}
	c.mu.Unlock()
	text.Linef(1, "%#x fd %d %s: %d datagrams and %d commands wait, cost %d is unsent, a batch is in flight %v, recv errno %d, closed %v", state...)
}
