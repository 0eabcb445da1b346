package sched

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/atomics"
)

// A CancellationToken asks any number of tasks and goroutines to stop. Tokens form a tree:
// canceling a token cancels its descendants, never its parent. A canceled token stays canceled.
// The zero value is a root. It must not be copied. Its methods may be called from any goroutine,
// and concurrently.
//
// A token refers to its children until they are canceled. So cancel children that are no longer
// needed, as with context.WithCancel. Otherwise they accumulate in a long-lived token. The cost
// does not depend on the number of siblings.
type CancellationToken struct {
	parent   *CancellationToken // nil: a root
	canceled atomic.Bool        // set under mu

	mu       atomics.Mutex
	children *CancellationToken // the first of the list
	waiters  waitList
	done     chan struct{} // nil: Done has not been called

	linked     bool // in the parent's list; it and prev, next are guarded by the parent's mu
	prev, next *CancellationToken
}

// NewCancellationToken returns a new root.
func NewCancellationToken() *CancellationToken { return new(CancellationToken) }

// Child returns a new token that is canceled with this one: at once, if this one is already
// canceled.
func (t *CancellationToken) Child() *CancellationToken {
	c := new(CancellationToken)
	t.adopt(c)
	return c
}

// adopt makes a new token, which nobody else knows yet, a child.
func (t *CancellationToken) adopt(c *CancellationToken) {
	c.parent = t
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.canceled.Load() {
		c.canceled.Store(true)
		return
	}
	if c.next = t.children; c.next != nil {
		c.next.prev = c
	}
	t.children, c.linked = c, true
}

// Cancel cancels the token and its descendants, and then wakes their waiters. So a waiter that is
// woken sees all of them canceled. The cost is proportional to the number of descendants and
// waiters.
func (t *CancellationToken) Cancel() {
	t.leave()
	if !t.cancel() {
		return
	}
	family := []*CancellationToken{t}
	for i := 0; i < len(family); i++ {
		family = family[i].cancelChildren(family)
	}
	for _, c := range family {
		c.announce()
	}
}

// leave takes the token out of its parent's list.
func (t *CancellationToken) leave() {
	p := t.parent
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.linked {
		p.unlink(t)
	}
}

func (t *CancellationToken) unlink(c *CancellationToken) {
	if c.prev == nil {
		t.children = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	c.linked, c.prev, c.next = false, nil, nil
}

// cancel sets the token itself, and reports whether it was not canceled before.
func (t *CancellationToken) cancel() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.canceled.Swap(true)
}

// cancelChildren cancels the children and adds them to the family. No child can be added after
// that.
func (t *CancellationToken) cancelChildren(family []*CancellationToken) []*CancellationToken {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := t.children; c != nil; c = t.children {
		t.unlink(c)
		if c.cancel() {
			family = append(family, c)
		}
	}
	return family
}

// announce wakes the waiters.
func (t *CancellationToken) announce() {
	t.mu.Lock()
	if t.done != nil && t.done != closedChan {
		close(t.done)
	}
	t.waiters.wakeAll(nil, &t.mu)
}

// IsCanceled reports whether the token is canceled.
func (t *CancellationToken) IsCanceled() bool { return t.canceled.Load() }

// Canceled is done when the token is canceled. It never fails. It waits without an allocation, and
// leaves nothing in the token when it is abandoned.
func (t *CancellationToken) Canceled() Future[struct{}] { return &tokenWait{token: t} }

type tokenWait struct {
	token   *CancellationToken
	node    waitNode
	entered bool // it has waited
}

func (w *tokenWait) Poll(cx *Context) (struct{}, error) {
	t := w.token
	if !w.entered && t.canceled.Load() {
		return struct{}{}, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.canceled.Load() {
		t.waiters.remove(&w.node)
		return struct{}{}, nil
	}
	w.entered = true
	t.waiters.add(&w.node, cx.Waker())
	return struct{}{}, ErrPending
}

func (w *tokenWait) Cancel() {
	t := w.token
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiters.remove(&w.node)
}

// closedChan is the result of Done for tokens that were canceled before the first call.
var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done returns a channel that is closed when the token is canceled. It is for goroutines; tasks
// use Canceled.
func (t *CancellationToken) Done() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == nil {
		if t.canceled.Load() {
			t.done = closedChan
		} else {
			t.done = make(chan struct{})
		}
	}
	return t.done
}

// Context returns a context that ends when the token is canceled, with context.Canceled. It has no
// deadline and no values. A context derived from it costs a goroutine until it is canceled. For
// the other direction use context.AfterFunc(ctx, token.Cancel).
func (t *CancellationToken) Context() context.Context { return tokenContext{t} }

type tokenContext struct{ token *CancellationToken }

func (c tokenContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c tokenContext) Done() <-chan struct{}       { return c.token.Done() }
func (c tokenContext) Value(any) any               { return nil }

func (c tokenContext) Err() error {
	if c.token.IsCanceled() {
		return context.Canceled
	}
	return nil
}
