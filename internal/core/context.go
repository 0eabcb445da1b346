package core

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/bubble"
)

// Context is Conn.Context of package conn.
func (c *Conn) Context() context.Context {
	if c.isOver() {
		if ctx := c.Group.contexts.find(c); ctx != nil {
			return ctx
		}
		return c.Group.contexts.over(c.Handle(), c.Cause())
	}
	ctx, made := c.Group.contexts.of(c)
	switch {
	case !made:
	case c.Is(Closing | Broken):
		c.EndContext(c.Cause())
	case isEndAsked(c):
		c.EndContext(nil)
	default:
		if f := consumerOf(c).Functions(); f != nil && f.EndAsked() {
			c.EndContext(nil)
		}
	}
	return ctx
}

// Context is Handle.Context of package conn.
func (h Handle) Context() context.Context {
	c := h.Conn()
	if c == nil {
		if h.Group == nil {
			return endedContext(context.Background(), nil)
		}
		return h.Group.contexts.over(h, nil)
	}
	ctx, made := c.Group.contexts.of(c)
	switch {
	case !made:
	case c.Tell(Command{Kind: CmdInner, What: checkContext}) != nil:
		c.DropContext(nil)
	case isEndAsked(c): // a call of the task may precede that command
		c.EndContext(nil)
	}
	return ctx
}

// TaskContext implements sched.Contexter: the context of a function of the connection is derived
// from that of the connection.
func (t *connTask) TaskContext(inRun bool) context.Context {
	c := (*Conn)(t)
	if inRun {
		return c.Context()
	}
	return c.Handle().Context()
}

// contexts are the contexts of a group's connections. They are found by the connection, so that
// connections without one have no room for it.
//
// A goroutine may make a context while the connection ends. It puts the context in here, and then
// gives the task a command. The task looks in here when it closes the connection, and again after
// it takes no more commands (tearDown). So the task finds the context, or executes the command
// after the close, or the command is refused. Each of the three ends the context.
//
// The task itself may make one after a goroutine has asked for the end (tell, Stream.Close). That
// goroutine leaves its request first, and then looks in here. The task looks for the request after
// it has put the context in here. The run may have taken the command for the end already, and
// execute another one before it. So the request is a sign that stays (endAsked), not the command.
type contexts struct {
	base context.Context
	with func(context.Context, Handle) context.Context

	some   atomic.Bool // m has entries
	mu     sync.Mutex
	closed bool
	m      map[*Conn]connContext
}

type connContext struct {
	ctx context.Context
	end context.CancelCauseFunc
}

// find is the context of a connection, or nil.
func (cs *contexts) find(c *Conn) context.Context {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.m[c].ctx
}

// of is the context of a connection, and whether it is new.
func (cs *contexts) of(c *Conn) (ctx context.Context, made bool) {
	if ctx := cs.find(c); ctx != nil {
		return ctx, false
	}
	c.Group.WatchEnd() // the workers may stop without tearDown
	var x connContext
	parent := cs.parent(c.Handle()) // functions of the user, not under the lock
	if bubble.In() {
		bubble.Outside(func() {
			x.ctx, x.end = context.WithCancelCause(parent)
			x.ctx.Done() // its channel belongs to the first that asks
		})
	} else {
		x.ctx, x.end = context.WithCancelCause(parent)
	}
	cs.mu.Lock()
	first, taken := cs.m[c]
	closed := cs.closed
	switch {
	case taken || closed:
	case cs.m == nil:
		cs.m = make(map[*Conn]connContext)
		fallthrough
	default:
		cs.m[c] = x
		cs.some.Store(true)
	}
	cs.mu.Unlock()
	switch {
	case taken:
		x.end(context.Canceled)
		return first.ctx, false
	case closed:
		x.end(ErrGone)
	}
	return x.ctx, true
}

func (cs *contexts) parent(h Handle) context.Context {
	if cs.with != nil {
		return cs.with(cs.base, h)
	}
	return cs.base
}

// over is the context of a connection that has ended.
func (cs *contexts) over(h Handle, cause error) context.Context {
	return endedContext(cs.parent(h), cause)
}

func endedContext(parent context.Context, cause error) context.Context {
	ctx, end := context.WithCancelCause(parent)
	end(causeOf(cause))
	return ctx
}

func causeOf(err error) error {
	if err == nil {
		return net.ErrClosed
	}
	return err
}

// checkContext ends a context that was made while the connection was ending.
func checkContext(c *Conn) {
	if c.Is(Closing | Broken) {
		c.EndContext(c.Cause())
	}
}

// EndContext ends the context of the connection, if there is one. Any goroutine may call it.
func (c *Conn) EndContext(cause error) {
	cs := &c.Group.contexts
	if !cs.some.Load() {
		return
	}
	cs.mu.Lock()
	x, ok := cs.m[c]
	cs.mu.Unlock()
	if ok {
		x.end(causeOf(cause))
	}
}

// close ends all contexts, and those still to be made: the workers stop.
func (cs *contexts) close() {
	cs.mu.Lock()
	all := cs.m
	cs.m, cs.closed = nil, true
	cs.some.Store(false)
	cs.mu.Unlock()
	for _, x := range all {
		x.end(ErrGone)
	}
}

// EndContexts ends all contexts, and those still to be made: the workers stop.
func (g *Group) EndContexts() { g.contexts.close() }

// EndedContext is the context of a connection that has ended.
func (g *Group) EndedContext(h Handle) context.Context { return g.contexts.over(h, nil) }

// DropContext forgets the context of a connection that is over, and ends it: a goroutine may have
// made it since tearDown looked for it. Any goroutine may call DropContext.
func (c *Conn) DropContext(cause error) {
	cs := &c.Group.contexts
	if !cs.some.Load() {
		return
	}
	cs.mu.Lock()
	x, ok := cs.m[c]
	delete(cs.m, c)
	cs.some.Store(len(cs.m) > 0)
	cs.mu.Unlock()
	if ok {
		x.end(causeOf(cause))
	}
}
