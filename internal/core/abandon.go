package core

import (
	"net"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/engine"
)

// The workers may stop while connections are left: after Group.Close, or when a driver fails. Then
// no task runs and no OnClose is called. But goroutines, and tasks of other runtimes, may wait for
// such a connection, or work with its context. One goroutine for the group ends those waits and the
// contexts, and closes the sockets, also those of datagrams. A dial that adds a connection later
// does so itself.

// WatchEnd abandons the connections that are left when the workers have stopped.
func (g *Group) WatchEnd() {
	g.ends.Do(func() {
		bubble.Go(func() {
			defer close(g.abandoned)
			<-g.Runtime.Done()
			g.contexts.close()
			for e := range g.Engine.Table.All() {
				if t, ok := e.Target.(engine.Abandoned); ok {
					t.Abandon()
				}
			}
		})
	})
}

// AbandonAll is WatchEnd, and waits until no connection or packet socket is left. The workers have
// stopped.
func (g *Group) AbandonAll() {
	g.WatchEnd()
	<-g.abandoned
}

// Abandon implements engine.Abandoned: it ends the waits for the connection, and resets it.
func (t *connTarget) Abandon() {
	c, err := (*Conn)(t), ErrGone
	if !c.Is(Opened) {
		err = c.NeverOpened()
	}
	consumerOf(c).Abandoned(c, err)
	c.closeAbandoned()
}

// NeverOpened is the error of a connection that was not established when the workers stopped.
func (c *Conn) NeverOpened() error {
	return &net.OpError{Op: "dial", Net: c.network(), Addr: c.Remote(), Err: net.ErrClosed}
}
