package process

import (
	"context"
	"fmt"
	"reflect"

	"github.com/suiro-go/suiro/internal/mpsc"
	"github.com/suiro-go/suiro/sched"
)

// An Inbox is the mailbox and the Self of a process that is a function. M is the type of its
// messages; any accepts all. Only that function may use it. Its receives wait as sched.Await does,
// with the context of the function or one that was derived from it.
type Inbox[M any] struct {
	Self
	receiver
	all  eventFuture
	next messageFuture[M]
}

// A receiver is the part of an Inbox that does not depend on the type of the messages.
type receiver struct {
	of *proc
	cx *sched.Context // of the function
}

// Go starts a process that is a plain function. It runs on a coroutine, as sched.Go does, and the
// process ends when it returns: with its error as the reason, or normally. Errors are those of
// Start. A Ref is a typed PID.
func Go[M any](at Starter, o Options, fn func(cx *sched.Context, self *Inbox[M]) error) (Ref[M], error) {
	b := &function[M]{fn: fn}
	b.inbox.p, b.inbox.of = &b.proc, &b.proc
	b.inbox.all.r, b.inbox.next.r = &b.inbox.receiver, &b.inbox.receiver
	s, parent := at.where()
	b.proc.init(s, b, &o)
	pid, err := s.launch(parent, &b.proc, &o)
	return Ref[M]{s, pid}, err
}

// A function is a process that is a function.
type function[M any] struct {
	proc
	co    sched.Coroutine
	fn    func(cx *sched.Context, self *Inbox[M]) error
	inbox Inbox[M]
}

// Run continues the function until it waits or returns. Workers call it. The task is woken for
// events, and for all that the function awaits.
func (b *function[M]) Run(cx *sched.Context) (done bool) {
	p := &b.proc
	p.cx = cx
	p.state.Begin()
	p.receiving = false
	if killed := p.killed.Load(); killed != nil {
		if !p.begun {
			p.finish(*killed)
			return true
		}
		b.co.Cancel()
	}
	if p.begun {
		done = b.co.Resume(cx)
	} else {
		p.begun = true
		done = b.co.Begin(cx, b.call)
	}
	if done {
		b.end()
		return true
	}
	to := mpsc.Blocked
	if p.receiving {
		to = mpsc.Idle
	}
	if p.state.Settle(to) {
		cx.Wake(p.task.Waker())
	}
	return false
}

func (b *function[M]) call(cx *sched.Context) error {
	b.inbox.cx = cx
	return b.fn(cx, &b.inbox)
}

func (b *function[M]) end() {
	p, reason := &b.proc, b.co.Err()
	if panicked, ok := reason.(*sched.PanicError); ok {
		p.sys.report("process: a process panicked", "pid", p.pid.String(), "panic", panicked.Value, "stack", string(panicked.Stack))
	} else if killed := p.killed.Load(); killed != nil { // perhaps during this run: then a receive has returned ErrKilled
		reason = *killed
	}
	b.fn = nil
	p.finish(reason)
}

// TaskDraining implements sched.Drainer.
func (b *function[M]) TaskDraining() *sched.CancellationToken { return &b.proc.sys.draining }

// TaskContext implements sched.Contexter: its context ends when the process is canceled.
func (b *function[M]) TaskContext(bool) context.Context { return (*processContext)(&b.proc) }

// DescribeTask names the process in reports of slow tasks.
func (b *function[M]) DescribeTask() (handler, peer string) { return b.proc.describe() }

// Receive waits for the next message, and returns it. Messages of other types are dropped. After a
// cancel event it returns ErrCanceled, once: the function should return, or may go on for the grace
// period. Other events stay where they are, for ReceiveEvent. In a process that was killed, the
// error is ErrKilled or sched.ErrCanceled.
func (in *Inbox[M]) Receive(ctx context.Context) (M, error) {
	p := in.p
	if cx := sched.FromContext(ctx); cx != nil && cx == in.cx && // else Await refuses, or the poll does
		p.overflow != OverflowDropOldest && p.pending != nil && p.killed.Load() == nil { // messages wait
		if signalOf(p.pending) == nil {
			if m, ok := p.pending.Value.(M); ok && cx.Proceed() {
				p.receive(anything)
				return m, nil
			}
		}
	}
	return sched.Await[M](ctx, &in.next)
}

// ReceiveFuture is Receive for sched.Select and Timeout. All calls return the same future, which
// may be used again once it is done.
func (in *Inbox[M]) ReceiveFuture() sched.Future[M] { return &in.next }

// ReceiveEvent waits for the next event of any type.
func (in *Inbox[M]) ReceiveEvent(ctx context.Context) (Event, error) {
	return sched.Await[Event](ctx, &in.all)
}

// ReceiveEventFuture is ReceiveEvent for sched.Select and Timeout. All calls return the same
// future, as with ReceiveFuture.
func (in *Inbox[M]) ReceiveEventFuture() sched.Future[Event] { return &in.all }

// ReceiveMatch waits for the first event that match accepts. All others stay in the mailbox, in
// their order. match must not use the inbox. Each call looks at all events that wait.
func (in *Inbox[M]) ReceiveMatch(ctx context.Context, match func(ev *Event) bool) (Event, error) {
	return sched.Await(ctx, in.ReceiveMatchFuture(match))
}

// ReceiveMatchFuture is ReceiveMatch for sched.Select and Timeout.
func (in *Inbox[M]) ReceiveMatchFuture(match func(ev *Event) bool) sched.Future[Event] {
	return &matchFuture{r: &in.receiver, match: match}
}

func anything(Event) bool { return true }

func isReceivable(ev Event) bool { return ev.Type == EventMessage || ev.Type == EventCancel }

// An eventFuture is a receive of any event.
type eventFuture struct{ r *receiver }

func (f *eventFuture) Poll(cx *sched.Context) (Event, error) {
	if err := f.r.begin(cx); err != nil {
		return Event{}, err
	}
	if ev, ok := f.r.of.receive(anything); ok {
		return ev, nil
	}
	return Event{}, f.r.wait(cx)
}

// A matchFuture is a receive of an event that match accepts.
type matchFuture struct {
	r     *receiver
	match func(ev *Event) bool
	seen  Event // that match looks at
}

func (f *matchFuture) Poll(cx *sched.Context) (Event, error) {
	if err := f.r.begin(cx); err != nil {
		return Event{}, err
	}
	ev, ok := f.r.of.receiveMatch(f.match, &f.seen)
	f.seen = Event{}
	if ok {
		return ev, nil
	}
	return Event{}, f.r.wait(cx)
}

// begin is called before a poll of a receive looks at the events. In another task nobody would wake
// its poller.
func (r *receiver) begin(cx *sched.Context) error {
	p := r.of
	if cx != r.cx {
		return errElsewhere
	}
	if p.killed.Load() != nil {
		return ErrKilled
	}
	if !cx.Proceed() {
		return sched.ErrPending
	}
	p.lockMail()
	p.collect()
	p.dropAnswers()
	p.unlockMail()
	return nil
}

// wait is the result of a poll that has found nothing.
func (r *receiver) wait(cx *sched.Context) error {
	r.of.receiving = true // the mailbox is empty
	cx.Refund()
	return sched.ErrPending
}

var errElsewhere = fmt.Errorf("process: only the process's own function receives: %w", sched.ErrMisuse)

type messageFuture[M any] struct{ r *receiver }

func (f *messageFuture[M]) Poll(cx *sched.Context) (m M, err error) {
	for {
		if err := f.r.begin(cx); err != nil {
			return m, err
		}
		ev, ok := f.r.of.receive(isReceivable)
		if !ok {
			return m, f.r.wait(cx)
		}
		if ev.Type == EventCancel {
			return m, ErrCanceled
		}
		m, ok = ev.Data.(M)
		if ok || ev.Data == nil && reflect.TypeFor[M]().Kind() == reflect.Interface {
			return m, nil
		}
		p := f.r.of
		p.sys.drop(p.pid, ev, ErrWrongType)
	}
}
