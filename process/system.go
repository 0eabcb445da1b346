package process

import (
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/panics"
	"github.com/suiro-go/suiro/sched"
)

// A Config describes a System. The zero value describes one with a runtime of its own.
type Config struct {
	// Runtime runs the processes. It must not be closed before Shutdown has returned. nil: the
	// System makes one, with a worker for each processor, and Shutdown closes it.
	Runtime *sched.Runtime

	// Mailbox is the default limit of messages in a mailbox. 0: 1024. Negative: none. Events other
	// than messages do not count.
	Mailbox int

	// Overflow is the default for messages that find a mailbox full. 0: OverflowRefuse.
	Overflow Overflow

	// Grace is how long Shutdown waits for processes to end before it kills them. 0: 5 s. Negative:
	// it kills them at once.
	Grace time.Duration

	// Dropped is called with each message that was accepted and that no process will receive,
	// because a mailbox was full (ErrMailboxFull) or the process has ended (ErrNoProcess). It can
	// give a pooled message back. It is called by a sender or a worker, and must not block. nil:
	// messages are dropped silently.
	Dropped func(to PID, message any, why error)

	// Node is the node of all PIDs of the System. Systems that reach each other by a Remote must
	// have different ones. 0: the only node.
	Node uint64

	// Remote reaches the processes of other nodes. nil: nothing does.
	Remote Remote

	// Logger receives panics of processes, and of functions such as Dropped. nil: they are not
	// logged. A panic of a process is also its reason.
	Logger *slog.Logger
}

const (
	defaultMailbox = 1024
	defaultGrace   = 5 * time.Second
)

// A System is a set of processes on a runtime. Make one with New. All methods may be called from
// any goroutine.
type System struct {
	rt    *sched.Runtime
	owned bool // Shutdown closes rt
	cfg   Config

	table    table
	nodes    sync.Pool // of *node: lists of nodes for messages
	signals  sync.Pool // of *signal
	end      node      // marks closed mailboxes
	scratch  []scratch // of each worker, spare ones included
	names    names
	groups   groups
	delays   delays
	draining sched.CancellationToken

	handlersMu sync.Mutex // held by OnCommand
	handlers   atomic.Pointer[map[reflect.Type]commandHandler]

	shutdownMu sync.Mutex // held by Shutdown
	stopping   atomic.Bool
	ended      chan struct{} // signals Shutdown that a process has ended
}

// scratch is memory for a Step. A worker uses it for one Step at a time.
type scratch struct {
	events []Event
	out    StepOutput
	_      [64]byte
}

// batchSize is the largest number of events of one Step.
const batchSize = 128

// New returns a System without processes.
func New(cfg Config) *System {
	if cfg.Mailbox == 0 {
		cfg.Mailbox = defaultMailbox
	}
	if cfg.Overflow == 0 {
		cfg.Overflow = OverflowRefuse
	}
	if cfg.Grace == 0 {
		cfg.Grace = defaultGrace
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &System{rt: cfg.Runtime, cfg: cfg, ended: make(chan struct{}, 1)}
	s.table.node = cfg.Node
	if s.rt == nil {
		s.rt, s.owned = sched.New(sched.Config{}), true
	}
	s.scratch = make([]scratch, s.rt.Workers()+s.rt.Spares())
	return s
}

// Runtime is the runtime that the processes run on.
func (s *System) Runtime() *sched.Runtime { return s.rt }

// Len is the number of processes that have not ended, or whose end still calls functions such as
// Config.Dropped.
func (s *System) Len() int { return s.table.len() }

// Status is the present status of a process. It is Complete for one that has ended.
func (s *System) Status(pid PID) Status {
	if p := s.table.get(pid); p != nil {
		return statusOf[p.state.Phase()]
	}
	return Complete
}

// Kill ends a process with the reason ErrKilled. The process receives nothing more. A Step that
// runs is the last one; a function's Await returns sched.ErrCanceled, and the function should then
// return. A function that does neither wait nor receive goes on. Kill returns at once, with
// ErrNoProcess if the process has ended.
func (s *System) Kill(pid PID) error {
	p := s.table.get(pid)
	if p == nil {
		return ErrNoProcess
	}
	p.kill(ErrKilled)
	return nil
}

// Cancel asks a process to end, by an EventCancel. It returns at once, with ErrNoProcess if the
// process has ended.
func (s *System) Cancel(pid PID) error {
	p := s.table.get(pid)
	if p == nil || !p.cancel() {
		return ErrNoProcess
	}
	return nil
}

// cancel reports whether the process had not ended.
func (p *proc) cancel() (alive bool) {
	p.mu.Lock()
	alive = !p.ended
	p.endContext()
	p.mu.Unlock()
	p.signal(nil, Event{Type: EventCancel}) // false if the end of its context has ended it already
	return alive
}

// Done is done when the process has ended, and its error is the reason: nil if the process ended
// normally. For a PID whose process had ended before, the error is ErrNoProcess. A task awaits it;
// a goroutine uses sched.Await.
func (s *System) Done(pid PID) sched.Future[struct{}] { return &doneFuture{sys: s, pid: pid} }

type doneFuture struct {
	sys *System
	pid PID

	mu      sync.Mutex
	watched *proc  // by the task only
	stop    func() // of a process of another node, by the task only
	ended   bool
	reason  error
	waker   sched.Waker
}

func (f *doneFuture) Poll(cx *sched.Context) (struct{}, error) {
	f.mu.Lock()
	f.waker = cx.Waker()
	ended, reason := f.ended, f.reason
	f.mu.Unlock()
	switch {
	case ended:
		return struct{}{}, reason
	case f.watched == nil && f.stop == nil:
		p := f.sys.table.get(f.pid)
		if r := f.sys.remote(f.pid); p == nil && r != nil {
			f.stop = r.Monitor(f.pid, func(reason error) { f.processEnded(f.pid, reason) })
			break
		}
		if p == nil || !p.watch(f) {
			return struct{}{}, ErrNoProcess
		}
		f.watched = p
	}
	return struct{}{}, sched.ErrPending
}

func (f *doneFuture) Cancel() {
	if f.watched != nil {
		f.watched.unwatch(f)
	}
	if f.stop != nil {
		f.stop()
	}
}

func (f *doneFuture) processEnded(_ PID, reason error) {
	f.mu.Lock()
	f.ended, f.reason = true, reason
	w := f.waker
	f.mu.Unlock()
	w.Wake()
}

// drop gives up an event that nobody will receive.
func (s *System) drop(to PID, ev Event, why error) {
	if ev.Type != EventMessage {
		return
	}
	if s.cfg.Dropped != nil {
		defer s.try("Dropped", func() { s.cfg.Dropped(to, ev.Data, why) }) // even if fail calls runtime.Goexit
	}
	if r, ok := ev.Data.(failer); ok {
		s.try("a function of NewRequest", func() { r.fail(why) })
	}
}

// try calls a function of the user, and logs its panic.
func (s *System) try(what string, f func()) {
	if p := panics.Try(f); p != nil {
		s.report("process: "+what+" panicked", "panic", p.Value, "stack", string(p.Stack))
	}
}

// report logs an error. The log's handler is the user's: if it panics, processes end all the same.
func (s *System) report(text string, attrs ...any) {
	_ = panics.Try(func() { s.cfg.Logger.Error(text, attrs...) })
}

// A failer is a request that somebody waits for.
type failer interface{ fail(err error) }

// processEnded makes Shutdown count again.
func (s *System) processEnded() {
	if s.stopping.Load() {
		select {
		case s.ended <- struct{}{}:
		default: // Shutdown has not counted since the last signal
		}
	}
}
