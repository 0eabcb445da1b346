package duplex

import (
	"sync"

	"github.com/suiro-go/suiro/internal/waiter"
	"github.com/suiro-go/suiro/sched"
)

// A Quitter knows why a wait of its task for bytes ends before bytes or the end of the Line arrive.
// A change of that makes the task poll again. Its method may call those of the Duplex.
type Quitter interface{ Quit() error }

// ReadIn is Read for the function of a task: it suspends that alone. In a task that is aborted it
// returns sched.ErrCanceled, unless bytes had been read by then. q may be nil.
func (d *Duplex) ReadIn(cx *sched.Context, p []byte, q Quitter) (int, error) {
	r := (*reading)(getPlace(d))
	r.p, r.quits = p, q
	n, err := sched.Await(cx, r)
	if err != nil && r.n > 0 {
		n, err = r.n, nil // they were read when the task was aborted
	}
	(*place)(r).put()
	return n, err
}

// TryRead is Read without a wait: ready is false if that would have waited.
func (d *Duplex) TryRead(p []byte) (n int, err error, ready bool) {
	d.mu.Lock()
	if n, err, ready = d.readNow(p); !ready {
		d.mu.Unlock()
	}
	return n, err, ready
}

// WriteIn is Write for the function of a task: it suspends that alone. In a task that is aborted
// it returns sched.ErrCanceled and the number of bytes written. A small write is gathered with the
// next ones: they are sent when the function waits, or by Flush.
func (d *Duplex) WriteIn(cx *sched.Context, p []byte) (n int, err error) {
	if len(p) < mostGathered {
		if taken, err := d.gather(cx, p); err != nil {
			return 0, err
		} else if taken {
			return len(p), nil
		}
	}
	if err := d.beginWriteIn(cx); err != nil {
		return 0, err
	}
	defer d.EndWrite()
	for n < len(p) {
		m, err := d.line.Write(p[n:])
		n += m
		if err == nil && n < len(p) {
			err = d.awaitRoomIn(cx)
		}
		if err != nil {
			return n, err
		}
	}
	if d.roomShort && n > 0 {
		d.mu.Lock()
		d.roomShort = false
		d.mu.Unlock()
	}
	return n, nil
}

// HoldIn takes the turn to write in the function of a task. It keeps the turn while begin puts
// something other than bytes on the Line, and until over reports true. It asks over again after
// each MadeRoom. Its errors are those of begin and of WriteIn.
func (d *Duplex) HoldIn(cx *sched.Context, begin func() error, over func() bool) error {
	err := d.beginWriteIn(cx)
	if err != nil {
		return err
	}
	defer d.EndWrite()
	for err = begin(); err == nil && !over(); {
		err = d.awaitRoomIn(cx)
	}
	return err
}

// beginWriteIn is BeginWrite in the function of a task.
func (d *Duplex) beginWriteIn(cx *sched.Context) error {
	t := (*turning)(getPlace(d))
	_, err := sched.Await(cx, t)
	(*place)(t).put()
	return err
}

// awaitRoomIn is AwaitRoom in the function of a task.
func (d *Duplex) awaitRoomIn(cx *sched.Context) error {
	r := (*rooming)(getPlace(d))
	_, err := sched.Await(cx, r)
	(*place)(r).put()
	return err
}

// TryWrite writes as much of p as there is room for, without a wait: ready is false if that is
// nothing.
func (d *Duplex) TryWrite(p []byte) (n int, err error, ready bool) {
	d.mu.Lock()
	d.sendGathered()
	err = d.unwritable()
	if err != nil || d.writing {
		d.mu.Unlock()
		return 0, err, err != nil
	}
	d.writing, d.asked = true, false
	d.mu.Unlock()
	defer d.EndWrite()
	n, err = d.line.Write(p)
	return n, err, n > 0 || err != nil || len(p) == 0
}

// A place is a wait of a task, as a future. Its task alone uses it, and the lock guards w.
type place struct {
	d *Duplex
	w *waiter.Waiter // nil: it does not wait
	p []byte         // of a read

	quits Quitter // of a read; nil: nobody
	n     int     // bytes that were read for a task that was aborted
}

var places = sync.Pool{New: func() any { return new(place) }}

func getPlace(d *Duplex) *place {
	f := places.Get().(*place)
	f.d = d
	return f
}

func (f *place) put() {
	*f = place{}
	places.Put(f)
}

// waits reports whether the place is still in its list: then cx is woken once it is not. Else n and
// err are the result. The lock is held.
func (f *place) waits(cx *sched.Context, listed bool) (n int, err error, pending bool) {
	if listed {
		f.w.Waker = cx.Waker()
		return 0, nil, true
	}
	n, err = f.w.N, f.w.Err
	f.w.Put()
	f.w = nil
	return n, err, false
}

// begin makes the waiter of a place.
func (f *place) begin(cx *sched.Context) *waiter.Waiter {
	f.w = waiter.Get()
	f.w.Waker, f.w.P = cx.Waker(), f.p
	return f.w
}

// A reading is a Read.
type reading place

// Poll implements sched.Future.
func (f *reading) Poll(cx *sched.Context) (int, error) {
	n, err := f.poll(cx)
	if err == sched.ErrPending && f.quits != nil {
		if why := f.quits.Quit(); why != nil {
			f.Cancel()
			n, f.n = f.n, 0
			if n > 0 { // they have just arrived
				why = nil
			}
			return n, why
		}
	}
	return n, err
}

func (f *reading) poll(cx *sched.Context) (n int, err error) {
	d := f.d
	d.mu.Lock()
	if f.w != nil {
		n, err, pending := (*place)(f).waits(cx, f.w.Listed())
		d.mu.Unlock()
		if pending {
			err = sched.ErrPending
		}
		return n, err
	}
	if !cx.Proceed() {
		d.mu.Unlock()
		return 0, sched.ErrPending
	}
	if n, err, ready := d.readNow(f.p); ready {
		return n, err
	}
	d.readers.Add((*place)(f).begin(cx))
	line := d.line
	d.mu.Unlock()
	if line != nil {
		line.Awaited()
	}
	return 0, sched.ErrPending
}

// Cancel implements sched.Canceler.
func (f *reading) Cancel() {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.w == nil {
		return
	}
	if !f.d.readers.Remove(f.w) {
		f.n = f.w.N
	}
	f.w.Put()
	f.w = nil
}

// A turning is the wait for the turn to write.
type turning place

// Poll implements sched.Future.
func (f *turning) Poll(cx *sched.Context) (struct{}, error) {
	d := f.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.w != nil {
		_, err, pending := (*place)(f).waits(cx, f.w.Listed())
		if pending {
			err = sched.ErrPending
		}
		return struct{}{}, err
	}
	d.sendGathered()
	d.asked = false
	err := d.unwritable()
	switch {
	case err != nil:
	case d.writing:
		d.writers.Add((*place)(f).begin(cx))
		err = sched.ErrPending
	case !cx.Proceed():
		err = sched.ErrPending
	default:
		d.writing = true
	}
	return struct{}{}, err
}

// Cancel implements sched.Canceler.
func (f *turning) Cancel() {
	var u waiter.Wakeup
	f.d.mu.Lock()
	if w := f.w; w != nil {
		if !f.d.writers.Remove(w) && w.Err == nil {
			f.d.nextWriter(&u) // it had the turn
		}
		w.Put()
		f.w = nil
	}
	f.d.mu.Unlock()
	u.Wake()
}

// A rooming is the wait of the writer for room.
type rooming place

// Poll implements sched.Future.
func (f *rooming) Poll(cx *sched.Context) (struct{}, error) {
	d := f.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.w != nil {
		_, err, pending := (*place)(f).waits(cx, d.forRoom == f.w)
		if pending {
			err = sched.ErrPending
		}
		return struct{}{}, err
	}
	if err := d.unwritable(); err != nil || d.room {
		d.room = false
		return struct{}{}, err
	}
	d.forRoom = (*place)(f).begin(cx)
	return struct{}{}, sched.ErrPending
}

// Cancel implements sched.Canceler.
func (f *rooming) Cancel() {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.w == nil {
		return
	}
	if f.d.forRoom == f.w {
		f.d.forRoom = nil
	}
	f.w.Put()
	f.w = nil
}
