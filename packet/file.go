package packet

import (
	"os"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
)

// File returns a copy of the socket's descriptor, as conn.Listener.File does. When the socket has
// ended, the error matches net.ErrClosed.
func (h Handle) File() (*os.File, error) {
	c := h.conn()
	if c == nil {
		return nil, engine.ErrGone
	}
	c.mu.Lock() // its task closes the descriptor only after it has set closed
	defer c.mu.Unlock()
	if c.inbox.closed {
		return nil, engine.ErrGone
	}
	return sock.File(c.end.FD, c.local.String())
}
