package sched

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/atomics"
)

// A CancellationToken asks any number of tasks and goroutines to stop. Tokens form a
// tree: cancelling one cancels its descendants, never its parent. Once cancelled, it
// stays so. The zero value is a root. It must not be copied. Its methods may be
// called from any goroutine, and at once.
//
// A token keeps its children until they are cancelled. So that those which are not
// needed any more do not pile up in one that lives long, cancel them, as with
// context.WithCancel; it costs the same however many siblings there are.
type CancellationToken struct {
	parent    *CancellationToken // nil: a root
	cancelled atomic.Bool        // set under mu

	mu       atomics.Mutex
	children *CancellationToken // the first of the list
	waiters  waitList
	done     chan struct{} // nil: nobody has asked for it

	linked     bool // in the parent's list; it and prev, next are under the parent's mu
	prev, next *CancellationToken
}

// NewCancellationToken is a root.
func NewCancellationToken() *CancellationToken { return new(CancellationToken) }

// Child is a new token that is cancelled with this one: at once, if this one is.
func (t *CancellationToken) Child() *CancellationToken {
	c := &CancellationToken{parent: t}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancelled.Load() {
		c.cancelled.Store(true)
		return c
	}
	if c.next = t.children; c.next != nil {
		c.next.prev = c
	}
	t.children, c.linked = c, true
	return c
}

// Cancel cancels the token and its descendants, and then wakes those who wait for
// them: whoever sees one cancelled by that sees all of them so. It costs as much as
// there are descendants and waiters.
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

// cancel sets the token itself, and reports whether this call has.
func (t *CancellationToken) cancel() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.cancelled.Swap(true)
}

// cancelChildren cancels the children, of which there will be no more, and adds them
// to the family.
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

// announce tells those who wait.
func (t *CancellationToken) announce() {
	t.mu.Lock()
	if t.done != nil && t.done != closedChan {
		close(t.done)
	}
	t.waiters.wakeAll(nil, &t.mu)
}

// IsCancelled reports whether the token is cancelled.
func (t *CancellationToken) IsCancelled() bool { return t.cancelled.Load() }

// Cancelled is done when the token is cancelled. It fails never. It waits without an
// allocation, and leaves nothing in the token when it is abandoned.
func (t *CancellationToken) Cancelled() Future[struct{}] { return &tokenWait{token: t} }

type tokenWait struct {
	token   *CancellationToken
	node    waitNode
	entered bool // it has waited
}

func (w *tokenWait) Poll(cx *Context) (struct{}, error) {
	t := w.token
	if !w.entered && t.cancelled.Load() {
		return struct{}{}, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancelled.Load() {
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

// closedChan is what Done returns for tokens that were cancelled before anybody
// asked.
var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done is closed when the token is cancelled: for goroutines. Tasks use Cancelled.
func (t *CancellationToken) Done() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == nil {
		if t.cancelled.Load() {
			t.done = closedChan
		} else {
			t.done = make(chan struct{})
		}
	}
	return t.done
}

// Context is a context that ends when the token is cancelled, with context.Canceled:
// for functions that take one. It has no deadline and no values. A context derived
// from it costs a goroutine until it is cancelled. For the other direction there is
// context.AfterFunc(ctx, token.Cancel).
func (t *CancellationToken) Context() context.Context { return tokenContext{t} }

type tokenContext struct{ token *CancellationToken }

func (c tokenContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c tokenContext) Done() <-chan struct{}       { return c.token.Done() }
func (c tokenContext) Value(any) any               { return nil }

func (c tokenContext) Err() error {
	if c.token.IsCancelled() {
		return context.Canceled
	}
	return nil
}
