package duplex

import (
	"io"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/onworker"
	"github.com/suiro-go/suiro/internal/waiter"
)

// Read reads received bytes, or waits for them, as that of net.Conn.
func (d *Duplex) Read(p []byte) (int, error) {
	d.mu.Lock()
	if n, err, ready := d.readNow(p); ready {
		return n, err
	}
	return d.wait(p)
}

// readNow is Read, unless that has to wait: then ready is false. The lock is held. It is released
// if ready is true.
func (d *Duplex) readNow(p []byte) (n int, err error, ready bool) {
	err, over := d.unreadable()
	switch {
	case len(p) == 0 && !d.closed:
		d.mu.Unlock()
		return 0, nil, true
	case over:
	case d.in.Bytes > 0:
		n, d.asked = d.in.Read(p), true
		d.unlockRead()
		return n, nil, true
	default:
		if err = d.exhausted(); err == nil {
			return 0, nil, false
		}
	}
	d.mu.Unlock()
	return 0, err, true
}

// wait waits until something has arrived for p, or, if p is nil, at all. The lock is held, and
// released. On a worker it does not wait.
func (d *Duplex) wait(p []byte) (int, error) {
	if err := onworker.Wait(); err != nil {
		d.mu.Unlock()
		return 0, err
	}
	w := waiter.Get()
	w.P = p
	d.readers.Add(w)
	line := d.line
	d.mu.Unlock()
	if line != nil {
		line.Awaited()
	}
	<-w.Woke
	n, err := w.N, w.Err
	w.Put()
	if err != nil {
		return 0, err
	}
	return n, nil
}

// serve gives the queue to the waiting goroutines, in turn, and with the last of it the end, if
// that has come. CopyTo, which has no buffer, takes its bytes itself, and then calls this for those
// behind it. The lock is held.
func (d *Duplex) serve(u *waiter.Wakeup) {
	for d.in.Bytes > 0 {
		w := d.readers.Take()
		if w == nil {
			return
		}
		u.Add(w)
		if w.P == nil {
			return
		}
		w.N, d.asked = d.in.Read(w.P), true
	}
	if err := d.exhausted(); err != nil {
		u.AddAll(&d.readers, err)
	}
}

// unlockRead is the end of a read. It releases the lock, and makes receiving go on if it was paused
// for the bytes read now. Other goroutines may wait for bytes that CopyTo has left.
func (d *Duplex) unlockRead() {
	var u waiter.Wakeup
	if d.readers.Len() > 0 {
		d.serve(&u)
	}
	resume := d.pauseAsked && d.in.Bytes <= min(d.window.Low, d.most/4)
	if resume {
		d.pauseAsked, d.most = false, d.window.Most
	}
	freed, line := d.account(), d.line
	d.mu.Unlock()
	u.Wake()
	if freed {
		line.Freed()
	}
	if resume {
		line.Resume()
	}
}

// CopyTo writes all that is read to w until the peer finishes, but holds no buffer while
// nothing comes. err is that of w.
func (d *Duplex) CopyTo(w io.Writer) (n int64, err, readErr error) {
	for {
		b, err := d.next()
		if err == io.EOF {
			return n, nil, nil
		}
		if err != nil {
			return n, nil, err
		}
		m, err := w.Write(b.Data[b.From:])
		if err == nil && m < len(b.Data)-b.From {
			err = io.ErrShortWrite
		}
		b.Put()
		n += int64(m)
		if err != nil {
			return n, err, nil
		}
	}
}

// next waits until something has arrived, and takes it.
func (d *Duplex) next() (*bufs.Block, error) {
	for {
		d.mu.Lock()
		if err, over := d.unreadable(); over {
			d.mu.Unlock()
			return nil, err
		}
		if b := d.in.Take(); b != nil {
			d.asked = true
			d.unlockRead()
			return b, nil
		}
		if err := d.exhausted(); err != nil {
			d.mu.Unlock()
			return nil, err
		}
		if _, err := d.wait(nil); err != nil {
			return nil, err
		}
	}
}

// NotifyEnd calls f once, when nothing more will arrive, at once if that is so already. A later
// call replaces f; nil, Close and Surrender take it back.
func (d *Duplex) NotifyEnd(f func()) {
	d.mu.Lock()
	d.ended = f
	notify := func() {}
	if d.closed {
		d.ended = nil
	} else if d.eof || d.gone {
		notify = d.takeEnded()
	}
	watch, line := d.pauseAsked && d.ended != nil, d.line
	d.mu.Unlock()
	notify()
	if watch {
		line.Watch()
	}
}

// TellsEnd reports whether a function of NotifyEnd waits to be called.
func (d *Duplex) TellsEnd() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended != nil
}

// TellEnd calls the function of NotifyEnd: the peer has reset the Line, which still pauses.
func (d *Duplex) TellEnd() {
	d.mu.Lock()
	notify := d.takeEnded()
	d.mu.Unlock()
	notify()
}

// takeEnded is what to call, without the lock, once nothing more arrives. The lock is held.
func (d *Duplex) takeEnded() func() {
	f := d.ended
	d.ended = nil
	if f == nil {
		return func() {}
	}
	return f
}

// ReadCapacity is how many bytes more are kept before the Line is asked to pause.
func (d *Duplex) ReadCapacity() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(d.most, d.reach) - d.in.Bytes
}

// Hungry reports whether a goroutine waits for bytes.
func (d *Duplex) Hungry() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.in.Bytes == 0 && d.readers.Len() > 0
}

// CountUnread counts so many bytes that are left in the Line as the Duplex's.
func (d *Duplex) CountUnread(behind int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.behind = behind
	d.account()
}

// account reports the memory of the Duplex to the Line. The lock is held, so the last call reports
// the latest state.
func (d *Duplex) account() (freed bool) {
	return d.line != nil && d.line.Keep(d.in.Bytes+d.behind)
}
