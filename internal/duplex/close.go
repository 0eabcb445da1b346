package duplex

import (
	"net"
	"os"
	"time"

	"github.com/suiro-go/suiro/internal/waiter"
)

// Close ends reads and writes at once, with net.ErrClosed, and the Line in order, or with a
// reset after Reset(true). A second call returns net.ErrClosed. Another error is that of gathered
// bytes which the Line has refused: the Duplex is closed all the same.
func (d *Duplex) Close() error {
	var u waiter.Wakeup
	d.mu.Lock()
	var lost error
	if !d.reset {
		lost = d.settle()
	}
	if d.closed {
		d.mu.Unlock()
		return net.ErrClosed
	}
	d.closed, d.ended = true, nil
	d.dropGathered(net.ErrClosed) // of a reset
	d.in.Clear()
	freed := d.account()
	u.AddAll(&d.readers, net.ErrClosed)
	d.stopWriters(&u, net.ErrClosed)
	d.readBy.Stop()
	d.writeBy.Stop()
	line, reset := d.line, d.reset
	d.mu.Unlock()
	u.Wake()
	if freed {
		line.Freed()
	}
	if line != nil {
		line.Close(reset)
	}
	return lost
}

// Reset says whether Close resets the Line, which may still be to open. The error is net.ErrClosed.
func (d *Duplex) Reset(reset bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return net.ErrClosed
	}
	d.reset = reset
	return nil
}

// CloseWrite ends writes. The error is net.ErrClosed after Close, or that of gathered bytes which
// the Line has refused.
func (d *Duplex) CloseWrite() error {
	var u waiter.Wakeup
	d.mu.Lock()
	lost := d.settle()
	if d.closed {
		d.mu.Unlock()
		return net.ErrClosed
	}
	if err := d.claimErr; err != nil {
		d.mu.Unlock()
		return err
	}
	line, again := d.line, d.writeClosed
	d.writeClosed = true
	d.stopWriters(&u, d.unwritable())
	d.mu.Unlock()
	u.Wake()
	if line != nil && !again {
		line.CloseWrite()
	}
	return lost
}

// CloseRead ends reads, which return io.EOF. The error is net.ErrClosed after Close.
func (d *Duplex) CloseRead() error {
	var u waiter.Wakeup
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return net.ErrClosed
	}
	if err := d.claimErr; err != nil {
		d.mu.Unlock()
		return err
	}
	line, again := d.line, d.readClosed
	d.readClosed = true
	d.in.Clear()
	freed := d.account()
	err, _ := d.unreadable()
	u.AddAll(&d.readers, err)
	d.stir(&u)
	d.mu.Unlock()
	u.Wake()
	if freed {
		line.Freed()
	}
	if line != nil && !again {
		line.CloseRead()
	}
	return nil
}

// Surrender ends the Duplex, as Close does but with the Line open, if commit reports true. It does
// nothing and reports false after Close, or if a goroutine reads or writes. It does the same if
// anything was received and not read, the end included. commit is called with the lock held, under
// which Arrived and Finished look. So they have come before it, or the Line keeps the bytes that
// arrive.
func (d *Duplex) Surrender(commit func() bool) bool {
	var u waiter.Wakeup
	d.mu.Lock()
	_ = d.settle()
	if d.closed || d.refused != nil || d.claimErr != nil || d.gone || d.eof || d.readClosed || d.writeClosed || d.pauseAsked ||
		d.in.Bytes > 0 || d.writing || d.readers.Len() > 0 || !commit() {
		d.mu.Unlock()
		return false
	}
	d.closed, d.surrendered, d.ended = true, true, nil
	d.readBy.Stop()
	d.writeBy.Stop()
	d.stir(&u)
	d.mu.Unlock()
	u.Wake()
	return true
}

// Surrendered reports whether Surrender has succeeded.
func (d *Duplex) Surrendered() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.surrendered
}

// SetDeadlines sets the deadlines of reads, writes or both; zero: none. The error is
// net.ErrClosed after Close, and once the Line was ended by its owner.
func (d *Duplex) SetDeadlines(t time.Time, read, write bool) error {
	var u waiter.Wakeup
	d.mu.Lock()
	if d.closed || d.closedByUs() {
		d.mu.Unlock()
		return net.ErrClosed
	}
	if read && d.readBy.Set(t, d, (*Duplex).readLate) {
		u.AddAll(&d.readers, os.ErrDeadlineExceeded)
		d.stir(&u)
	}
	if write && d.writeBy.Set(t, d, (*Duplex).writeLate) {
		d.stopWriters(&u, os.ErrDeadlineExceeded)
	}
	d.mu.Unlock()
	u.Wake()
	return nil
}

func (d *Duplex) readLate() {
	var u waiter.Wakeup
	d.mu.Lock()
	if !d.closed && d.readBy.Ring() {
		u.AddAll(&d.readers, os.ErrDeadlineExceeded)
		d.stir(&u)
	}
	d.mu.Unlock()
	u.Wake()
}

func (d *Duplex) writeLate() {
	var u waiter.Wakeup
	d.mu.Lock()
	if !d.closed && d.writeBy.Ring() {
		d.stopWriters(&u, os.ErrDeadlineExceeded)
	}
	d.mu.Unlock()
	u.Wake()
}
