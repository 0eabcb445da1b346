package sched

import (
	"context"
	"slices"
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
	canceled atomics.Bool       // set under mu
	turn     atomics.Mutex      // held from before canceled is set until the waiters have been woken

	mu       atomics.Mutex
	children *CancellationToken // the first of the list
	waiters  waitList
	done     chan struct{} // nil: Done has not been called; never nil once the waiters have been woken

	linked     bool // in the parent's list; it and prev, next are guarded by the parent's mu
	prev, next *CancellationToken
}

// How tokens are canceled. The caller of Cancel that sets canceled has the token's turn, and takes
// that of each descendant that it cancels. It keeps all of them until it has woken the waiters of
// those further down. So a caller that gets the turn of a canceled token knows that it and its
// descendants are canceled, and that their waiters have been woken. A second Cancel waits for that,
// and so does Err of a context: until then Done is open.
//
// A descendant that another caller cancels stays in the list until that caller is done. It is
// waited for. Callers wait only for tokens further down, so they do not wait for each other.

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
		c.done = closedChan
		return
	}
	if c.next = t.children; c.next != nil {
		c.next.prev = c
	}
	t.children, c.linked = c, true
}

// Cancel cancels the token and its descendants, and then wakes their waiters. So a waiter that is
// woken sees all of them canceled. When Cancel returns, all of that is done, also if another
// goroutine does it. The cost is proportional to the number of descendants and waiters.
func (t *CancellationToken) Cancel() {
	if !t.cancel() {
		t.awaitTurn()
		return
	}
	family := []*CancellationToken{t}
	var others []*CancellationToken // which other callers cancel
	for i := 0; i < len(family); i++ {
		family, others = family[i].cancelChildren(family, others)
	}
	for _, c := range others {
		c.awaitTurn()
	}
	for _, c := range slices.Backward(family) { // descendants first
		c.announce()
		c.turn.Unlock()
	}
	t.leave()
}

// awaitTurn returns when the waiters of a canceled token and of its descendants have been woken.
func (t *CancellationToken) awaitTurn() {
	t.turn.Lock()
	defer t.turn.Unlock()
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

// cancel sets the token itself, and reports whether it was not canceled before. Then the caller has
// its turn. Nobody else takes the turn of a token that is not canceled, so it is free.
func (t *CancellationToken) cancel() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.canceled.Load() {
		return false
	}
	t.turn.Lock()
	t.canceled.Store(true)
	return true
}

// cancelChildren cancels the children. It adds them to the family, or to the others if another
// caller has canceled them. No child can be added after that.
func (t *CancellationToken) cancelChildren(family, others []*CancellationToken) (_, _ []*CancellationToken) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := t.children; c != nil; c = t.children {
		t.unlink(c)
		if c.cancel() {
			family = append(family, c)
		} else {
			others = append(others, c)
		}
	}
	return family, others
}

// announce closes Done and wakes the waiters.
func (t *CancellationToken) announce() {
	t.mu.Lock()
	if t.done == nil {
		t.done = closedChan
	} else {
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
		t.done = make(chan struct{})
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

// Err waits until Done is closed, if the token is canceled: see context.Context.
func (c tokenContext) Err() error {
	if !c.token.IsCanceled() {
		return nil
	}
	c.token.awaitTurn()
	return context.Canceled
}
