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
	where := fmt.Sprintf("%#x fd %d packet socket %v, %s", c.end.Token, c.end.FD, c.local, engine.HandlerName(c.handler))
	if c.peer.IsValid() {
		where += fmt.Sprintf(" of %v", c.peer)
	}
	if !text.Lock(&c.mu) {
		text.Linef(1, "%s: busy", where)
		return
	}
	in := &c.inbox
	state := []any{where, len(in.chunks), len(in.commands), in.queued, in.flight != nil, in.recvErrno, in.closed}
	c.mu.Unlock()
	text.Linef(1, "%s: %d datagrams and %d commands wait, cost %d is unsent, a batch is in flight %v, recv errno %d, closed %v", state...)
}
