package process

import (
	"context"

	"github.com/suiro-go/suiro/sched"
)

// A Remote reaches the processes of other nodes: those whose PID has another node than Config.Node.
// Send, Call, SendAfter, Monitor, Done and OnEnd use it. All else is for processes of the same
// system: for a process of another node, Kill and Cancel return ErrNoProcess. A link with it ends
// at once, with ErrNoProcess. Package process/natscluster has a Remote.
//
// Any goroutine may call the methods. They must not wait.
type Remote interface {
	// Send sends a message, and does not keep it unless it is a *Request. A Remote that accepts a
	// *Request answers it. ErrMailboxFull: there is no room now.
	Send(to PID, message any) error

	// AwaitRoom wakes w, once, when Send may find room. false: Send would not return
	// ErrMailboxFull now, and w is not used.
	AwaitRoom(to PID, w sched.Waker) bool

	// Forget says that nobody waits for the answer to a *Request any longer.
	Forget(request any)

	// Monitor calls ended, once, when the process ends, unless stop is called before.
	Monitor(pid PID, ended func(reason error)) (stop func())
}

// remote is the Remote that reaches a process; nil: none does.
func (s *System) remote(to PID) Remote {
	if to.node == s.cfg.Node || to.IsZero() {
		return nil
	}
	return s.cfg.Remote
}

// sendRemote is trySend to a process that is not in the table.
func (s *System) sendRemote(to PID, message any) error {
	if r := s.remote(to); r != nil {
		return r.Send(to, message)
	}
	return ErrNoProcess
}

// Deliver is Send that waits for room whatever the process's Overflow is, unless that drops
// messages. A Remote uses it for messages that must not be lost.
func (s *System) Deliver(ctx context.Context, to PID, message any) error {
	if ctx != nil { // else Await refuses
		if err := s.trySend(sched.FromContext(ctx), to, message); err != ErrMailboxFull {
			return err
		}
	}
	_, err := sched.Await(ctx, sched.Future[struct{}](&sendFuture{sys: s, to: to, message: message, wait: true}))
	return err
}

// NewRequest returns a request that calls answered with its first answer. A Remote sends it to the
// process that another node calls. The caller's own end of the request is not concerned.
func NewRequest[Q, R any](body Q, answered func(value R, err error)) *Request[Q, R] {
	return &Request[Q, R]{Body: body, answered: answered}
}

// OnEnd calls ended, once, when the process ends, unless stop is called before. ended must not
// block. stop does not wait for a call. ok is false if the process has ended already: then there
// is no call.
func (s *System) OnEnd(pid PID, ended func(reason error)) (stop func(), ok bool) {
	p, w := s.table.get(pid), &endFunc{s, ended}
	if p == nil {
		if r := s.remote(pid); r != nil {
			return r.Monitor(pid, func(reason error) { go w.processEnded(pid, reason) }), true // ended may exit its goroutine
		}
		return func() {}, false
	}
	if !p.watch(w) {
		return func() {}, false
	}
	return func() { p.unwatch(w) }, true
}

type endFunc struct {
	sys   *System
	ended func(error)
}

func (w *endFunc) processEnded(_ PID, reason error) {
	w.sys.try("a function of OnEnd", func() { w.ended(reason) })
}
