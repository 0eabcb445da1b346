package process

import (
	"context"
	"math"

	"github.com/suiro-go/suiro/internal/mpsc"
	"github.com/suiro-go/suiro/internal/panics"
	"github.com/suiro-go/suiro/sched"
)

// Options are about one process. The zero value has the System's defaults.
type Options struct {
	// Name registers the process before it runs. "": it has no name. Start fails with ErrNameTaken
	// if another process has the name.
	Name string

	// Mailbox and Overflow are as in Config. 0: those of the System.
	Mailbox  int
	Overflow Overflow

	// Method and Input are the arguments of Process.Init.
	Method string
	Input  any

	// Link links the process to the one that starts it, before it runs (see Self.Link). It has no
	// effect if a System starts the process.
	Link bool
}

// A Starter starts processes. It is a *System, from any goroutine, or the *Self of a running
// process, which is faster.
type Starter interface {
	where() (*System, *proc)
}

var (
	_ Starter = (*System)(nil)
	_ Starter = (*Self)(nil)
)

func (s *System) where() (*System, *proc) { return s, nil }
func (s *Self) where() (*System, *proc)   { return s.p.sys, s.p }

// Start starts a process, whose Init is called soon. The error is ErrShutdown, ErrNameTaken, or
// that of the runtime; the process then never runs, and none of its methods is called.
func Start(at Starter, p Process, o Options) (PID, error) {
	b := &stepper{process: p}
	if o.Method != "" || o.Input != nil {
		b.entry = &entry{o.Method, o.Input}
	}
	s, parent := at.where()
	b.proc.init(s, b, &o)
	return s.launch(parent, &b.proc, &o)
}

// launch makes a process known and wakes it.
func (s *System) launch(parent, p *proc, o *Options) (PID, error) {
	if err := s.rt.Start(); err != nil {
		return PID{}, err
	}
	if err := s.add(p); err != nil {
		return PID{}, err
	}
	if o.Name != "" {
		if err := s.Register(o.Name, p.pid); err != nil {
			p.finish(err)
			return PID{}, err
		}
	}
	if parent == nil {
		p.task.Wake()
		return p.pid, nil
	}
	if o.Link {
		parent.link(p)
	}
	p.rouse(parent.cx)
	return p.pid, nil
}

// add makes a process known. Shutdown first sets stopping, and then looks at the table. So it sees
// the process, or the process sees stopping.
func (s *System) add(p *proc) error {
	s.table.add(p)
	if s.stopping.Load() {
		p.finish(ErrShutdown)
		return ErrShutdown
	}
	return nil
}

// limitOf is the limit of a mailbox.
func limitOf(n int) int32 {
	if n < 0 {
		return 0
	}
	return int32(min(n, math.MaxInt32))
}

// A stepper is a process that has a Process.
type stepper struct {
	proc
	process Process
	entry   *entry // nil: the zero value
	err     error  // a run has not returned
	status  Status // of the last Step
	inited  bool   // Init was called
}

// An entry has the arguments of Process.Init.
type entry struct {
	method string
	input  any
}

// Run is one Step. Workers call it.
func (b *stepper) Run(cx *sched.Context) (done bool) {
	p := &b.proc
	if p.finished { // by a run that has not returned
		return true
	}
	p.cx = cx
	p.state.Begin()
	if v := (*sched.PanicError)(panics.Try(func() { done = b.run(cx) })); v != nil {
		return b.failed(cx, v)
	}
	return done
}

func (b *stepper) run(cx *sched.Context) (done bool) {
	p := &b.proc
	if b.err != nil {
		b.end(b.err)
		return true
	}
	if reason := p.killed.Load(); reason != nil {
		b.end(*reason)
		return true
	}
	if !b.inited { // before it takes messages, which are dropped if Init fails
		b.inited = true
		var at entry
		if b.entry != nil {
			at, b.entry = *b.entry, nil
		}
		if err := b.process.Init((*processContext)(p), at.method, at.input); err != nil {
			b.end(err)
			return true
		}
	}
	scratch := &p.sys.scratch[cx.Worker()]
	if scratch.events == nil {
		scratch.events = make([]Event, 0, batchSize)
	}
	events, more, moreAnswers := p.batch(scratch.events, b.status == Blocked)
	if len(events) == 0 && b.status != Ready { // woken for nothing, or for what an earlier run has taken
		return b.settle(cx, b.status)
	}
	out := &scratch.out
	out.Status, out.yields = Ready, out.yields[:0]
	err := b.process.Step(events, out)
	clear(events)
	status := out.Status
	for i := range out.yields {
		p.sys.dispatch(p.pid, out.yields[i])
	}
	clear(out.yields)
	if err != nil || status == Complete {
		b.end(err)
		return true
	}
	if status == Running {
		status = Ready
	}
	b.status = status
	if status == Idle && more || status == Blocked && moreAnswers {
		status = Ready
	}
	return b.settle(cx, status)
}

// settle ends a run that does not end the process.
func (b *stepper) settle(cx *sched.Context, status Status) (done bool) {
	if b.proc.state.Settle(phaseOf[status]) {
		cx.Wake(b.proc.task.Waker())
	}
	return false
}

// end ends the process.
func (b *stepper) end(reason error) {
	if b.inited {
		b.inited = false // Close is called once, even if it panics
		b.process.Close()
	}
	b.process = nil
	b.proc.finish(reason)
}

// failed is called after a run that has not returned, because of a panic or runtime.Goexit. Unless
// the process has ended, it ends in the next run.
func (b *stepper) failed(cx *sched.Context, err error) (ended bool) {
	p := &b.proc
	p.sys.scratch[cx.Worker()] = scratch{}
	if p.finished {
		return true
	}
	if v, ok := err.(*sched.PanicError); ok {
		p.sys.report("process: a process panicked", "pid", p.pid.String(), "panic", v.Value, "stack", string(v.Stack))
	}
	b.err = err
	p.state.Settle(mpsc.Ready)
	cx.Wake(p.task.Waker())
	return false
}

// Exited implements sched.Survivor.
func (b *stepper) Exited(cx *sched.Context) { b.failed(cx, sched.ErrGoexit) }

// TaskDraining implements sched.Drainer.
func (b *stepper) TaskDraining() *sched.CancellationToken { return &b.proc.sys.draining }

// TaskContext implements sched.Contexter.
func (b *stepper) TaskContext(bool) context.Context { return (*processContext)(&b.proc) }

// DescribeTask names the process in reports of slow tasks.
func (b *stepper) DescribeTask() (handler, peer string) { return b.proc.describe() }
