package process

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/suiro-go/suiro/internal/saturate"
	"github.com/suiro-go/suiro/sched"
)

// A Strategy says which children a supervisor restarts when one has ended.
type Strategy uint8

const (
	// OneForOne restarts that child.
	OneForOne Strategy = iota
	// OneForAll ends all other children, and restarts all.
	OneForAll
	// RestForOne ends the children after that one, and restarts it and them.
	RestForOne
)

// A Restart says whether a child is restarted.
type Restart uint8

const (
	// Permanent means: always.
	Permanent Restart = iota
	// Transient means: unless it has ended normally, with nil or ErrCanceled.
	Transient
	// Temporary means: never.
	Temporary
)

// A Child is a process that a supervisor starts and restarts.
type Child struct {
	// Name is for errors and logs.
	Name string

	// Start starts the child at the given Starter, with the given Options, to which it may add. It
	// is Start or Go with a new Process or function, or the Start of another Supervisor. A child
	// that is not linked to the supervisor is killed, and counts as one that cannot be started.
	Start func(at Starter, o Options) (PID, error)

	// Restart says whether the child is started again when it ends. The zero value is Permanent.
	Restart Restart

	// Grace is how long the child may take to end after a cancel event, before it is killed. 0:
	// 5 s. Negative: it is killed at once.
	Grace time.Duration
}

// A Supervisor is the description of a process that starts other processes, and restarts them when
// they end. It starts them in their order, and ends them in the reverse order.
type Supervisor struct {
	// Strategy says which children are restarted when one ends. The zero value is OneForOne.
	Strategy Strategy

	// Intensity is the number of restarts that are allowed within Period. With one more the
	// supervisor ends its children and itself, with an IntensityError. 0: 3. Negative: there is no
	// limit.
	Intensity int

	// Period is the time in which restarts count. 0: 5 s.
	Period time.Duration

	// BackOff is the time before a restart. It doubles with each further restart within Period, up
	// to MaxBackOff. 0: restarts are made at once.
	BackOff time.Duration

	// MaxBackOff is the longest time before a restart. 0: 64 times BackOff.
	MaxBackOff time.Duration

	// Children are started in this order.
	Children []Child
}

// An IntensityError is the reason of a supervisor that has restarted its children too often.
type IntensityError struct {
	Child string // the last one that has ended
	Err   error  // its reason
}

// Error names the child and its reason.
func (e *IntensityError) Error() string {
	return fmt.Sprintf("process: too many restarts, the last one of %q: %v", e.Child, e.Err)
}

// Unwrap returns the child's reason.
func (e *IntensityError) Unwrap() error { return e.Err }

// Start starts the supervisor, and returns before the children have started. If a child cannot be
// started, the supervisor ends with that error. It can be a Child of another one.
func (s Supervisor) Start(at Starter, o Options) (PID, error) {
	if s.Intensity == 0 {
		s.Intensity = 3
	}
	if s.Period == 0 {
		s.Period = 5 * time.Second
	}
	if s.MaxBackOff == 0 {
		s.MaxBackOff = doubled(s.BackOff, 6)
	}
	v := &supervision{Supervisor: s}
	ref, err := Go(at, o, v.run)
	return ref.PID(), err
}

// A supervision is a running supervisor.
type supervision struct {
	Supervisor
	cx       *sched.Context
	self     *Inbox[any]
	children []supervised
	restarts []time.Duration // when there were restarts, within Period
}

type supervised struct {
	Child
	pid PID           // zero: it does not run
	due time.Duration // when it is to be restarted; 0: not
}

func (v *supervision) run(cx *sched.Context, self *Inbox[any]) error {
	v.cx, v.self = cx, self
	self.TrapExits(true)
	for _, c := range v.Children {
		v.children = append(v.children, supervised{Child: c})
		if err := v.start(len(v.children) - 1); err != nil {
			return errors.Join(fmt.Errorf("process: starting child %q: %w", c.Name, err), v.endAll())
		}
	}
	for {
		ev, err := v.next()
		switch {
		case err == sched.ErrTimeout:
			err = v.restartDue()
		case err != nil: // killed: links kill the children
		case ev.Type == EventCancel:
			return errors.Join(ErrCanceled, v.endAll())
		case ev.Type == EventExit:
			err = v.exited(ev.Data.(PID), ev.Error)
		}
		if err != nil {
			return err
		}
	}
}

// next waits for an event, or until a restart is due: sched.ErrTimeout.
func (v *supervision) next() (Event, error) {
	due := time.Duration(0)
	for i := range v.children {
		if d := v.children[i].due; d != 0 && (due == 0 || d < due) {
			due = d
		}
	}
	if due == 0 {
		return v.self.ReceiveEvent(v.cx)
	}
	return sched.Await[Event](v.cx, sched.TimeoutAt(due, v.self.ReceiveEventFuture()))
}

func (v *supervision) start(i int) error {
	c := &v.children[i]
	c.due = 0
	pid, err := c.Start(&v.self.Self, Options{Link: true})
	if err != nil {
		return err
	}
	if !v.self.p.knows(pid) {
		_ = v.self.System().Kill(pid) // it may have ended
		return fmt.Errorf("%w: %v", errNotLinked, pid)
	}
	c.pid = pid
	return nil
}

// errNotLinked is the error of a child whose end the supervisor would not learn of.
var errNotLinked = errors.New("process: a child is not linked to its supervisor; Child.Start must start it at the Starter and with the Options that it is given")

// exited deals with the end of a linked process.
func (v *supervision) exited(pid PID, reason error) error {
	for i := range v.children {
		if v.children[i].pid == pid {
			v.children[i].pid = PID{}
			return v.ended(i, reason, 0)
		}
	}
	if isNormal(reason) {
		return nil
	}
	return errors.Join(&ExitError{pid, reason}, v.endAll()) // not a child: the process that has started this one
}

// failedStart is the least delay after a child that could not be started.
const failedStart = time.Millisecond

// ended deals with the end of a child. A restart is made after the least delay or later.
func (v *supervision) ended(i int, reason error, least time.Duration) error {
	c := &v.children[i]
	if c.Restart == Temporary || c.Restart == Transient && isNormal(reason) || v.self.System().stopping.Load() {
		return nil
	}
	delay, ok := v.allow()
	log := v.self.System().cfg.Logger.With("supervisor", v.self.PID().String(), "child", c.Name, "error", reason)
	if !ok {
		log.Error("process: a child fails too often: its supervisor ends")
		return errors.Join(&IntensityError{c.Name, reason}, v.endAll())
	}
	delay = max(delay, least)
	log.Warn("process: a child has ended, and is started again", "after", delay)
	first, last := i, i
	switch v.Strategy {
	case OneForAll:
		first, last = 0, len(v.children)-1
	case RestForOne:
		last = len(v.children) - 1
	}
	due := max(1, saturate.Add(v.cx.Now(), delay))
	for j := last; j >= first; j-- {
		runs := !v.children[j].pid.IsZero() || v.children[j].due != 0
		if err := v.end(j); err != nil {
			return err
		}
		if j == i || runs && v.children[j].Restart != Temporary {
			v.children[j].due = due
		}
	}
	if delay == 0 {
		return v.restartDue()
	}
	return nil
}

// allow notes a restart, and says how long to wait before it. false: there were too many.
func (v *supervision) allow() (delay time.Duration, ok bool) {
	now := v.cx.Runtime().Now()
	v.restarts = slices.DeleteFunc(v.restarts, func(at time.Duration) bool { return now-at >= v.Period })
	v.restarts = append(v.restarts, now)
	if v.Intensity >= 0 && len(v.restarts) > v.Intensity {
		return 0, false
	}
	if v.Intensity < 0 && len(v.restarts) > maxDelays {
		v.restarts = v.restarts[1:]
	}
	return min(doubled(v.BackOff, min(len(v.restarts)-1, maxDelays)), v.MaxBackOff), true
}

// doubled is d, doubled so often.
func doubled(d time.Duration, times int) time.Duration {
	for range times {
		d = saturate.Add(d, d)
	}
	return d
}

// maxDelays bounds how often a delay doubles. A supervisor without a limit remembers no more
// restarts than count for that.
const maxDelays = 64

// restartDue starts the children whose time has come. A child that cannot be started counts as one
// that has ended.
func (v *supervision) restartDue() error {
	now := v.cx.Runtime().Now()
	for i := range v.children {
		c := &v.children[i]
		if c.due == 0 || c.due > now {
			continue
		}
		if err := v.start(i); err != nil {
			return v.ended(i, err, failedStart)
		}
	}
	return nil
}

// end ends a child, and waits for its end. The error is that of the supervisor's own kill.
func (v *supervision) end(i int) error {
	c := &v.children[i]
	c.due = 0
	pid := c.pid
	if pid.IsZero() {
		return nil
	}
	c.pid = PID{}
	system := v.self.System()
	if !v.self.p.knows(pid) { // the child has unlinked itself
		_ = system.Kill(pid)
		return nil
	}
	its := func(ev *Event) bool { return ev.Type == EventExit && ev.Data == pid }
	grace := c.Grace
	if grace == 0 {
		grace = defaultGrace
	}
	if grace > 0 {
		_ = system.Cancel(pid) // if it has ended, its exit is here
		_, err := sched.Await[Event](v.cx, sched.Timeout(grace, v.self.ReceiveMatchFuture(its)))
		if err != sched.ErrTimeout {
			return err
		}
	}
	_ = system.Kill(pid)
	_, err := v.self.ReceiveMatch(v.cx, its)
	return err
}

// endAll ends all children, the last one first.
func (v *supervision) endAll() error {
	for i := len(v.children) - 1; i >= 0; i-- {
		if err := v.end(i); err != nil {
			return err
		}
	}
	return nil
}
