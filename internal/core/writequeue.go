package core

import (
	"math"

	"github.com/suiro-go/suiro/internal/flow"
)

// Enqueue adds a copy of p to the queue.
func Enqueue[T string | []byte](c *Conn, p T) { flow.Append(&c.Out, &c.Driver.Buffers, p) }

// Pending is how much must leave besides the bytes in flight and those queued: in memory, a pipe
// included, and in files.
func (w *writer) Pending() (memory int, files int64) {
	if r := w.c.Spliced(); r != nil {
		memory = r.Owed
	}
	return memory + w.Out.Memory(), w.Out.FileBytes()
}

// unsentMemory is Unsent without files, and with the bytes that wait for a handshake.
func (w *writer) unsentMemory() int {
	memory, _ := w.Pending()
	f := w.c.Filter()
	return len(w.Out.Queued) + w.InFlight + memory + f.sealed() + f.early()
}

func clampInt(n int64) int { return int(min(n, math.MaxInt)) }

// notifySent calls the functions of NotifySent.
func (w *writer) notifySent(err error) {
	for x := w.c.Extras; x != nil && len(x.notifySent) > 0; { // one may add another
		f := x.notifySent[0]
		x.notifySent = x.notifySent[1:]
		f(err)
	}
}

// takeOver queues bytes that Outlet.Write has left, without a copy if nothing is queued. It does so
// even if the connection is closing or its write side is closed, since the FIN waits for them. It
// does so after the write deadline too, since that is not the Socket's.
func (w *writer) takeOver(data []byte) {
	c := w.c
	w.Out.Adopt(&c.Driver.Buffers, data)
	if c.Is(Closing) && (c.Extras == nil || !c.Extras.Clock.Lingers()) {
		c.More().Clock.linger(c) // Close has seen nothing to wait for
	}
}

// fetch works on pending data if nothing is queued before it. Bytes become queued. Files, pipes and
// a splice's buffers are sent by direct calls, as far as the kernel takes them at once.
func (w *writer) fetch() {
	c := w.c
	c.Inbox.Right.Queue(0) // nobody else sends between two of the calls
	for len(w.Out.Queued) == 0 && !c.Is(Broken) {
		more := false
		if f, r := w.Out.First(), c.Spliced(); f != nil {
			more = w.sendFile(f)
		} else if r != nil && r.Owed > 0 {
			more = c.Handler.(Passer).Fetch(c)
		}
		if !more {
			return
		}
	}
}
