package duplex

import (
	"io"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/onworker"
	"github.com/suiro-go/suiro/internal/waiter"
)

// Write puts all of p on the Line. It is not mixed with the writes of other goroutines. With an
// error, the bytes it counts may still be sent.
func (d *Duplex) Write(p []byte) (n int, err error) {
	if err := d.BeginWrite(); err != nil {
		return 0, err
	}
	defer d.EndWrite()
	for n < len(p) {
		m, err := d.line.Write(p[n:])
		n += m
		if err == nil && n < len(p) {
			err = d.AwaitRoom()
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// CopyFrom writes all that is read from r. err is that of r.
func (d *Duplex) CopyFrom(r io.Reader) (n int64, err, writeErr error) {
	b := bufs.GetBlock(bufs.Large)
	defer b.Put()
	for {
		m, rerr := r.Read(b.Data[:cap(b.Data)])
		if m > 0 {
			w, err := d.Write(b.Data[:m])
			n += int64(w)
			if err != nil {
				return n, nil, err
			}
		}
		if rerr == io.EOF {
			return n, nil, nil
		}
		if rerr != nil {
			return n, rerr, nil
		}
	}
}

// BeginWrite waits for the turn to write, which EndWrite gives to the next.
func (d *Duplex) BeginWrite() error {
	d.mu.Lock()
	d.sendGathered()
	d.asked = false
	err := d.unwritable()
	if err != nil || !d.writing {
		d.writing = d.writing || err == nil
		d.mu.Unlock()
		return err
	}
	if err := onworker.Wait(); err != nil {
		d.mu.Unlock()
		return err
	}
	w := waiter.Get()
	d.writers.Add(w)
	d.mu.Unlock()
	<-w.Woke
	err = w.Err
	w.Put()
	return err
}

// EndWrite gives the turn to the next.
func (d *Duplex) EndWrite() {
	var u waiter.Wakeup
	d.mu.Lock()
	d.nextWriter(&u)
	d.mu.Unlock()
	u.Wake()
}

// nextWriter gives the turn to the next writer, if there is one. The lock is held.
func (d *Duplex) nextWriter(u *waiter.Wakeup) {
	w := d.writers.Take()
	d.writing = w != nil
	if w != nil {
		u.Add(w)
		return
	}
	d.stir(u)
}

// AwaitRoom waits until the Line has room. Line.Write has said that it had none, and that MadeRoom
// is to be called: that may be before or after the lock is taken here.
func (d *Duplex) AwaitRoom() error {
	d.mu.Lock()
	if err := d.unwritable(); err != nil || d.room {
		d.room = false
		d.mu.Unlock()
		return err
	}
	if err := onworker.Wait(); err != nil {
		d.mu.Unlock()
		return err
	}
	w := waiter.Get()
	d.forRoom = w
	d.mu.Unlock()
	<-w.Woke
	err := w.Err
	w.Put()
	return err
}

// MadeRoom says that the Line may have room again.
func (d *Duplex) MadeRoom() {
	var u waiter.Wakeup
	d.mu.Lock()
	w := d.forRoom
	d.forRoom, d.room = nil, w == nil
	if w != nil {
		u.Add(w)
	}
	d.stir(&u)
	d.mu.Unlock()
	u.Wake()
}

// SendFailed says that the Line sends nothing more. Writes fail from now on, and reads go on.
func (d *Duplex) SendFailed(err error) {
	var u waiter.Wakeup
	d.mu.Lock()
	d.dropGathered(err)
	d.refuse(err)
	d.stopWriters(&u, d.unwritable())
	d.mu.Unlock()
	u.Wake()
}

// stopWriters ends all writes that wait. The lock is held.
func (d *Duplex) stopWriters(u *waiter.Wakeup, err error) {
	u.AddAll(&d.writers, err)
	if w := d.forRoom; w != nil {
		d.forRoom, w.Err = nil, err
		u.Add(w)
	}
	d.stir(u)
}
