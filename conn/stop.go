package conn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/suiro-go/suiro/internal/bubble"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/sched"
)

// ErrStuck is matched by the errors of Group.Stop, Group.Close and Listener.Close, and of
// a Server's Shutdown and Close, that left something because a handler does not return.
var ErrStuck = errors.New("conn: a handler does not return")

// giveUp is how long nothing may have ended until what is left is taken to be stuck. Stop and
// Close count how often they have looked, since time passes as well while the process stands
// still (a stopped container, a suspended machine), and no handler can return then: a ticker
// drops the ticks that were missed.
const (
	giveUp    = time.Second
	lookEvery = giveUp / 50
)

// Stop ends the group at once: listeners are closed and every connection is reset. From then
// on a dial, and a new listener, is refused with an error that matches net.ErrClosed. When
// the last OnClose has returned, the workers stop.
//
// It waits for handlers until ctx ends, and goes on for as long as the number of connections
// falls within each second. Then it returns an error that matches ErrStuck, and says what is left:
// connections, and workers with a handler that does not return. Packet sockets receive
// nothing more by then, and their ports are free, but on Windows, where the handler has to
// return first. What a stuck worker may still use is not freed; if its handler
// returns later, all of it ends then, in the background. A handler must not call Stop.
//
// The error matches that of ctx, unless the cause of ctx (context.Cause) is ErrStuck: with that
// cause the caller says that there never was a time for the handlers.
func (g *Group) Stop(ctx context.Context) error {
	ctx, release := bubble.Context(ctx)
	defer release()
	return bubble.Call(func() error { return g.stop(ctx) })
}

func (g *Group) stop(ctx context.Context) error {
	g.core.AbortAll()
	ended := make(chan error, 1)
	closing := g.closeListeners()
	go func() {
		closing.Wait()
		_ = g.Wait(context.Background())
		ended <- g.stopWorkers()
	}()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	left, quiet := g.Len(), time.Duration(0)
	for {
		select {
		case err := <-ended:
			return err
		case <-look.C:
		}
		// Only a number lower than all before is progress: what joins and leaves is none.
		quiet += lookEvery
		if n := g.Len(); n < left || ctx.Err() == nil {
			left, quiet = n, 0
		}
		if quiet >= giveUp {
			g.core.TellAll(engine.Sever)
			why := ctx.Err()
			if context.Cause(ctx) == ErrStuck {
				why = nil // a Server's Close, which has no context
			}
			return g.stuckError(why)
		}
	}
}

func (g *Group) closeListeners() *sync.WaitGroup {
	var all sync.WaitGroup
	for e := range g.core.Table.All() {
		if l, ok := e.Target.(*listenerTarget); ok {
			l := (*Listener)(l)
			all.Go(func() { _ = l.Close() })
		}
	}
	return &all
}

func (g *Group) stopWorkers() error {
	_ = g.late.wait(context.Background())
	err := g.rt.Close()
	for _, l := range g.late.list() {
		l.finish()
	}
	g.pipes.Close()
	return err
}

// stuckError says what has not ended. It matches ErrStuck, and why unless that is nil.
func (g *Group) stuckError(why error) error {
	var what []string
	switch n := g.Len(); n {
	case 0:
	case 1:
		what = append(what, "1 connection has not ended")
	default:
		what = append(what, fmt.Sprintf("%d connections have not ended", n))
	}
	for _, b := range g.rt.Busy(giveUp / 2) {
		what = append(what, inATask(b))
	}
	err := stuckIn(what)
	if why != nil {
		err = fmt.Errorf("%w; %w", why, err)
	}
	return err
}

// stuckError says which worker does not close the listener, if that is known. Connections
// and other workers have no part in it.
func (l *Listener) stuckError() error {
	var what []string
	for _, b := range l.group.rt.Busy(giveUp / 2) {
		if b.Worker == int(l.on.Load()) {
			what = append(what, inATask(b))
		}
	}
	return stuckIn(what)
}

func inATask(b sched.Busy) string {
	return fmt.Sprintf("worker %d is in a task for %v", b.Worker, b.For.Round(time.Millisecond))
}

func stuckIn(what []string) error {
	if len(what) == 0 {
		return ErrStuck
	}
	return fmt.Errorf("%w: %s", ErrStuck, strings.Join(what, ", "))
}
