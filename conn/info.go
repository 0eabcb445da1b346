package conn

import (
	"crypto/tls"
	"iter"
	"net"
	"time"

	"github.com/suiro-go/suiro/internal/core"
)

// An Info describes a connection, for logs and status pages.
type Info struct {
	Handle     Handle
	Handler    string // its type, or the function of a sequential handler
	RemoteAddr net.Addr
	Began      time.Time // it was accepted, or its dial began
	Received   uint64    // bytes
	Sent       uint64    // bytes that the kernel has taken
	Unsent     int       // bytes written that the kernel has not taken
	Spliced    Handle    // the other connection of a splice, or the zero Handle
}

// Info describes the connection. In OnClose its figures are the last ones.
func (c *Conn) Info() Info { return infoOf(&c.core) }

// Info describes the connection. It reports false if that has ended.
func (h Handle) Info() (Info, bool) {
	c := h.core.Conn()
	if c == nil {
		return Info{}, false
	}
	return infoOf(c), true
}

// Info describes the connection. Once that has ended, its figures are the last ones. Any goroutine
// may call it. The zero Info is that of a dialed Stream whose connection is not established.
func (s *Stream) Info() Info {
	c := s.c
	if s.ofTask != nil {
		c = s.ofTask.socket.conn()
	}
	if c == nil {
		return Info{}
	}
	return infoOf(c)
}

// Connections lists the open connections. It lists every connection that is open throughout, and
// perhaps some that open or end meanwhile. It takes one lock and makes one allocation for each
// connection, and blocks no worker. Any goroutine.
func (g *Group) Connections() iter.Seq[Info] {
	return func(yield func(Info) bool) {
		for e := range g.core.Engine.Table.All() {
			if c := core.ConnOf(e); c != nil && !yield(infoOf(c)) {
				return
			}
		}
	}
}

// A Life describes a connection from its beginning to its end. See Conn.Life.
type Life struct {
	// Began is when the connection was accepted, or its dial began.
	Began time.Time
	// Dialed says that it was dialed.
	Dialed bool
	// Handshake is when the TLS handshake began. Zero: there was none.
	Handshake time.Time
	// TLS is what Conn.TLS returns. After a handshake that has failed, it is the part that was
	// agreed on by then, such as ServerName. It must not be changed. nil: the handshake goes on, or
	// ended before it read anything.
	TLS *tls.ConnectionState
	// Failure says how the handshake has failed: it is the error.type of
	// suiro.tls_handshake.duration, such as "timeout" or "certificate". "": it has not failed.
	Failure string
	// Err is why the connection ends, as OnClose gets it, whichever handler it has by then. nil: it
	// goes on, or ends in order.
	Err error
}

// Life describes the connection, for tracing and logs. In OnClose, and in functions of NotifyClose,
// it is complete. A handler within ServeTLS whose OnClose was called without OnOpen learns by it
// whether the handshake has failed.
func (c *Conn) Life() Life {
	f := c.core.Filter()
	l := Life{Began: c.core.Began(), Dialed: c.core.Is(core.Outbound), Handshake: f.Began(), Failure: f.Failure(), Err: c.core.Cause()}
	if f != nil {
		l.TLS = f.Session.Known()
	}
	return l
}

func infoOf(c *core.Conn) Info {
	t := c.Traffic()
	i := Info{Handle: Handle{c.Handle()}, Handler: core.NameOf(t.Handler), RemoteAddr: c.Remote(), Began: c.Began(), Received: t.Received, Sent: t.Sent, Unsent: t.Unsent}
	if r, ok := t.Handler.(*relay); ok {
		i.Spliced = Handle{r.there().conn.Handle()}
	}
	return i
}
