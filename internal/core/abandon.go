package core

import (
	"net"

	"github.com/suiro-go/suiro/internal/bubble"
)

// The workers may stop while connections are left: after Group.Close, or when a driver fails. Then
// no task runs and no OnClose is called. But goroutines, and tasks of other runtimes, may wait for
// such a connection, or work with its context. One goroutine for the group ends those waits and the
// contexts.

// WatchEnd ends the waits for connections, and their contexts, when the workers have stopped.
func (g *Group) WatchEnd() {
	g.ends.Do(func() {
		bubble.Go(func() {
			<-g.Runtime.Done()
			g.contexts.close()
			for e := range g.Engine.Table.All() {
				if c := ConnOf(e); c != nil {
					abandon(c)
				}
			}
		})
	})
}

// abandonLate is for a connection that has just been added to the table: WatchEnd may have looked
// before.
func abandonLate(c *Conn) {
	select {
	case <-c.Group.Runtime.Done():
		abandon(c)
	default:
	}
}

// abandon ends the waits for a connection whose task runs no more.
func abandon(c *Conn) {
	err := ErrGone
	if !c.Is(Opened) {
		err = c.NeverOpened()
	}
	consumerOf(c).Abandoned(c, err)
}

// NeverOpened is the error of a connection that was not established when the workers stopped.
func (c *Conn) NeverOpened() error {
	return &net.OpError{Op: "dial", Net: c.network(), Addr: c.Remote(), Err: net.ErrClosed}
}
