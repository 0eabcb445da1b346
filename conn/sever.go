package conn

import (
	"time"

	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
)

// How a socket is closed while the handler on its worker does not return. The worker may
// have the descriptor's number in a submission that it has not made yet, so the number must
// not become another file's: an inert socket takes its place, and is closed by the worker,
// if that ever goes on. What the kernel has in flight on the socket is canceled from here.
//
// The cancel comes after the inert socket. A run that began before Close may be slow, and
// submit its operation at any moment. If the kernel takes that before the number changes hands,
// the cancel ends it. If it takes it later, the operation is one of the inert socket, and fails.
// The other way round an operation that the kernel takes between the two would keep the socket.

// severAfter is how long a listener's task has to close it: a worker that is not stuck may
// still be in a pause of the garbage collector, or without a processor.
const severAfter = 50 * time.Millisecond

// severed is how long Close goes on to wait then, for a worker that was only slow, and for
// the kernel, which ends what is canceled on the thread of the stuck worker.
const severed = 100 * time.Millisecond

// severEvery is how often Close looks meanwhile.
const severEvery = 10 * time.Millisecond

// retire puts an inert socket in the descriptor's place. false: it could not, yet.
func (l *Listener) retire() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.gone:
		return true
	case l.inert:
	case l.group.core.Inert.Retire(l.end.FD) == nil:
		l.inert = true
	default:
		return false
	}
	return true
}

// awaitClose waits until the task has closed the descriptor, or is without it. If its task
// does not run, the listening socket refuses new connections all the same.
func (l *Listener) awaitClose() error {
	passed := severAfter // by the looks: see giveUp
	look := time.NewTimer(severAfter)
	defer look.Stop()
	over := time.Duration(0) // since when the socket refuses; 0: it does not
	for first := true; ; first = false {
		select {
		case <-l.closed:
			return nil
		case <-l.group.rt.Done():
			l.finish()
			return nil
		case <-look.C:
		}
		retired := l.retire() && over == 0
		if retired {
			over = passed
		}
		if first || retired {
			l.group.core.Expel(&l.end, reactor.Accept)
		} else {
			l.group.core.Nudge()
		}
		switch {
		case over > 0 && passed-over >= severed:
			return nil
		case passed >= giveUp:
			return l.opError("close", l.stuckError())
		}
		look.Reset(severEvery)
		passed += severEvery
	}
}

// finish closes the descriptor once the workers have stopped: the task will not run again.
func (l *Listener) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gone {
		l.gone = true
		sock.Close(l.end.FD)
	}
	l.group.late.remove(l)
}
