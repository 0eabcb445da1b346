package duplex

import (
	"io"
	"sync"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/sched"
)

// ViewIn waits in the function of a task until n bytes have been received, and returns them in
// place. With take they are read. A negative n is for as many as lie in one piece, at least one.
// While it waits it holds no memory for them.
//
// The bytes stay as they are until Return of the loan, or until the next ViewIn with it: that ends
// it before it waits. So bytes that are peeked and then read stay throughout. With io.EOF there are
// none, with another error fewer than n, and none is read. The error is io.ErrUnexpectedEOF if the
// peer finishes before, and io.ErrShortBuffer if it would wait for more than Window.Bound. q may be
// nil.
func (d *Duplex) ViewIn(cx *sched.Context, old bufs.Loan, n int, take bool, q Quitter) ([]byte, bufs.Loan, error) {
	f := viewings.Get().(*viewing)
	f.watch.d, f.watch.event, f.n, f.take = d, atLeast+Event(max(n, 1)), n, take
	f.loan, f.quits = old, q
	p, err := sched.Await(cx, f)
	loan := f.loan
	*f = viewing{}
	viewings.Put(f)
	return p, loan, err
}

// Return ends a loan of ViewIn.
func (d *Duplex) Return(l bufs.Loan) {
	d.mu.Lock()
	d.in.Return(l)
	d.mu.Unlock()
}

// A viewing is a ViewIn, as a future.
type viewing struct {
	watch Watch
	n     int
	take  bool
	loan  bufs.Loan
	quits Quitter // nil: nobody
}

var viewings = sync.Pool{New: func() any { return new(viewing) }}

// Poll implements sched.Future.
func (f *viewing) Poll(cx *sched.Context) ([]byte, error) {
	d := f.watch.d
	if f.watch.w == nil && !cx.Proceed() {
		return nil, sched.ErrPending
	}
	d.mu.Lock()
	d.in.Return(f.loan)
	f.loan = bufs.Loan{}
	p, err, ready := f.look()
	switch {
	case !ready:
		f.watch.wait(cx)
		d.reach = max(d.reach, f.n)
		resume := d.pauseAsked && d.in.Bytes < f.n // it pauses too soon
		if resume {
			d.pauseAsked = false
		}
		line := d.line
		d.mu.Unlock()
		if resume {
			line.Resume()
		}
		return f.quit()
	case err == nil && f.take:
		f.leave()
		d.asked = d.asked || len(p) > 0
		d.unlockRead()
	default:
		f.leave()
		d.mu.Unlock()
	}
	return p, err
}

// quit is the result of a wait that goes on, unless the Quitter ends it.
func (f *viewing) quit() ([]byte, error) {
	if f.quits == nil {
		return nil, sched.ErrPending
	}
	why := f.quits.Quit()
	if why == nil {
		return nil, sched.ErrPending
	}
	f.Cancel()
	return nil, why
}

// leave ends the wait. The lock is held.
func (f *viewing) leave() {
	f.watch.leave()
	if d := f.watch.d; d.watchers.Len() == 0 {
		d.reach = 0
	}
}

// Cancel implements sched.Canceler.
func (f *viewing) Cancel() {
	f.watch.d.mu.Lock()
	defer f.watch.d.mu.Unlock()
	f.leave()
}

// look is the result, if it is ready. The lock is held.
func (f *viewing) look() (p []byte, err error, ready bool) {
	d, n := f.watch.d, f.n
	if err, over := d.unreadable(); over {
		return nil, err, true
	}
	switch {
	case n == 0:
		return nil, nil, true
	case d.in.Bytes >= max(n, 1): // also above the bound: a burst may have exceeded that
		p, f.loan = d.in.Lend(n, f.take)
		return p, nil, true
	case d.tooFar(n):
		err = io.ErrShortBuffer
	default:
		err = d.exhausted()
	}
	if err == nil || d.in.Bytes == 0 {
		return nil, err, err != nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if !f.take {
		p, f.loan = d.in.Lend(d.in.Bytes, false)
	}
	return p, err, true
}

// tooFar reports whether ViewIn does not wait for n bytes. The lock is held.
func (d *Duplex) tooFar(n int) bool { return d.line != nil && n > d.window.Bound }
