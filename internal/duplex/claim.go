package duplex

import (
	"net"
	"os"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/waiter"
)

// Claim gives the Line's bytes to another user than goroutines and tasks. From then on their reads,
// writes and half-closes fail with the error taken, and so do those that wait. Close and deadlines
// stay as they are. Claim fails and changes nothing if the Duplex was claimed, or cannot be read
// and written.
func (d *Duplex) Claim(taken error) error {
	var u waiter.Wakeup
	d.mu.Lock()
	_ = d.settle() // the next Write or Flush reports it
	err := d.unclaimable()
	if err == nil {
		d.claimErr = taken
		u.AddAll(&d.readers, taken)
		d.stopWriters(&u, taken)
	}
	d.mu.Unlock()
	u.Wake()
	return err
}

// unclaimable is why Claim fails, or nil. The lock is held.
func (d *Duplex) unclaimable() error {
	switch {
	case d.closed || d.readClosed || d.writeClosed:
		return net.ErrClosed
	case d.claimErr != nil:
		return d.claimErr
	case d.failed != nil:
		return d.failed
	case d.gone:
		return net.ErrClosed
	case d.late():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Release takes a Claim back, whose bytes nobody has taken.
func (d *Duplex) Release() {
	d.mu.Lock()
	d.claimErr = nil
	d.mu.Unlock()
}

// TakeBlock takes the first unread bytes of a Duplex that was claimed. The caller calls Put of the
// block. nil: nothing is unread. It is for the Line's task, so that nothing arrives meanwhile.
func (d *Duplex) TakeBlock() *bufs.Block {
	d.mu.Lock()
	b := d.in.Take()
	d.pauseAsked, d.behind = false, 0
	freed := d.account()
	line := d.line
	d.mu.Unlock()
	if freed {
		line.Freed()
	}
	return b
}

// late reports whether a deadline has passed. The lock is held.
func (d *Duplex) late() bool { return d.readBy.Passed() || d.writeBy.Passed() }
