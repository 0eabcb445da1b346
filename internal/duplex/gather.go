package duplex

import (
	"runtime"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/waiter"
	"github.com/suiro-go/suiro/sched"
)

// mostGathered is how many bytes of small writes are gathered. A copy of more costs more than the
// system call that it would save.
const mostGathered = 16 << 10

// The invariant of small writes: accepted bytes are on the Line before the Line or its writing ends
// in order. They are there before any goroutine or task can see that end, too.
//
// So closed, writeClosed, claimErr and surrendered are set only after settle, in one hold of the
// lock. The Line's task calls EndGathering before it ends the Line of its own accord. Only a reset,
// or a Line that has failed, drops accepted bytes. Then refused says why.

// gather keeps a copy of p, which leaves with the function's other small writes before the function
// waits. It reports false if p must be written at once: much is written, another writer has the
// turn, or the Line had no room the last time.
//
// While bytes are gathered, no writer holds the turn: the next writer first sends those bytes.
func (d *Duplex) gather(cx *sched.Context, p []byte) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.unwritable(); err != nil {
		return true, err
	}
	d.asked = false
	b, size := d.gathered, len(p)
	if b != nil {
		size += len(b.Data)
	}
	if d.writing || d.roomShort || d.noGathering || size > mostGathered {
		return false, nil
	}
	if b == nil || size > cap(b.Data) {
		d.gathered = bufs.GetBlock(size)
		if b != nil {
			d.gathered.Data = append(d.gathered.Data, b.Data...)
			b.Put()
		}
	}
	d.gathered.Data = append(d.gathered.Data, p...)
	if d.gatherer != cx {
		d.gatherer = cx
		cx.Defer(d)
	}
	return true, nil
}

// BeforeWait implements sched.Deferred.
func (d *Duplex) BeforeWait(cx *sched.Context) {
	d.mu.Lock()
	if d.gatherer == cx {
		d.gatherer = nil
	}
	d.flush()
}

// Flush sends what WriteIn has gathered. An error is that of this call, or of an earlier one for
// gathered bytes.
func (d *Duplex) Flush() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.settle() // refused has it
	return d.refused
}

// flush sends the gathered bytes. It never waits: bytes that find no room are queued beyond it, and
// the next write waits. The lock is held, and released.
func (d *Duplex) flush() {
	b := d.gathered
	if b == nil {
		d.mu.Unlock()
		return
	}
	d.gathered, d.writing, d.flushing = nil, true, true
	d.mu.Unlock()
	short, err := d.writeAll(b)
	var u waiter.Wakeup
	d.mu.Lock()
	d.roomShort, d.flushing = short, false
	if err != nil {
		d.refuse(err)
	}
	d.nextWriter(&u)
	d.mu.Unlock()
	u.Wake()
}

// sendGathered is flush for a caller that goes on to write. The lock is held.
func (d *Duplex) sendGathered() {
	for d.gathered != nil {
		d.flush()
		d.mu.Lock()
	}
}

// settle sends the gathered bytes, and waits while another goroutine sends some. That is one Write
// of the Line, which does not wait. It returns the error of bytes that were refused during the
// call. The lock is held. settle may release it meanwhile. Nothing is gathered or being sent when
// it returns.
func (d *Duplex) settle() error {
	was := d.refused
	for d.gathered != nil || d.flushing {
		if d.flushing {
			d.mu.Unlock()
			runtime.Gosched()
		} else {
			d.flush()
		}
		d.mu.Lock()
	}
	if was != nil {
		return nil //nolint:nilerr // an earlier call has returned this error
	}
	return d.refused
}

// EndGathering makes later small writes go to the Line at once. The Line's task calls it before it
// ends the Line or its writing of its own accord.
func (d *Duplex) EndGathering() {
	d.mu.Lock()
	_ = d.settle() // the next Write or Flush reports it
	d.noGathering = true
	d.mu.Unlock()
}

// writeAll gives a block to the Line. It reports whether there was too little room.
func (d *Duplex) writeAll(b *bufs.Block) (short bool, err error) {
	n, err := d.line.Write(b.Data)
	if err == nil && n < len(b.Data) {
		short, err = true, d.line.Queue(b.Data[n:])
	}
	b.Put()
	return short, err
}

// dropGathered forgets the gathered bytes. Flush reports why. The lock is held.
func (d *Duplex) dropGathered(why error) {
	if d.gathered != nil {
		d.gathered.Put()
		d.gathered = nil
		d.refuse(why)
	}
}

// refuse notes that accepted bytes cannot be sent. The lock is held.
func (d *Duplex) refuse(why error) {
	if d.refused == nil {
		d.refused = why
	}
}
