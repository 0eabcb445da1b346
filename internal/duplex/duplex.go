package duplex

import (
	"cmp"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/internal/waiter"
	"github.com/suiro-go/suiro/sched"
)

// A Line is the connection beneath a Duplex. No lock of the Duplex is held during a call,
// except those of Keep and Room. Any goroutine makes the calls.
type Line interface {
	// Write sends p, or queues it, as far as there is room. It returns how much that was. If it
	// was not all, MadeRoom is called once another Write is worth trying, or the Line has ended.
	// There is one call at a time.
	Write(p []byte) (int, error)
	// Queue takes all of p, beyond the room. It is for a Write that has not taken everything.
	Queue(p []byte) error
	// Room reports whether Write would take anything. If not, MadeRoom is called once it may.
	Room() bool
	// Awaited says that a goroutine has begun to wait for bytes.
	Awaited()
	// Watch asks for a reset to be reported while the Line pauses.
	Watch()
	// Resume asks for more bytes, after Arrived has asked for a pause.
	Resume()
	// CloseRead, CloseWrite and Close end the Line, or a direction of it, in order; Close with
	// reset at once.
	CloseRead()
	CloseWrite()
	Close(reset bool)

	// Keep gets the number of bytes of memory that the Duplex holds. It reports whether the caller
	// must call Freed, without the lock.
	Keep(bytes int) bool
	Freed()
}

// A Duplex is the side of a Line that goroutines and tasks have. Methods whose names begin as a
// Line's events do (Open, Arrived, Finished, Ended, MadeRoom) are for the Line's task, all others
// for any goroutine. The zero value has a Line that is open, once Open has been called; see
// Unopened.
type Duplex struct {
	mu     sync.Mutex // guards the fields below; taken before any lock of the Line, never after it
	line   Line       // nil: not open yet
	window Window
	most   int // bytes that are kept before the Line is asked to pause
	reach  int // more than that, for a ViewIn that waits for as many

	closed bool  // Close was called
	reset  bool  // Close is to reset
	gone   bool  // the Line has ended
	failed error // why, if that was not in order

	watchers waiter.List // tasks that wait until something holds, see Watch
	draining bool        // Drain was called

	surrendered bool  // Surrender has succeeded: later bytes are not for the Duplex
	claimErr    error // Claim's: why reads and writes fail; nil: it was not claimed

	in bufs.Blocks // received bytes
	// they wait for more: while there are some, in is empty, or left to a CopyTo that is about to
	// come
	readers    waiter.List
	behind     int                // bytes that wait in the Line, as of CountUnread
	pauseAsked bool               // the Line was asked to pause
	readClosed bool               // CloseRead was called
	asked      bool               // something was read after the last write
	eof        bool               // the peer has finished
	ended      func()             // NotifyEnd's; nil: nobody's, or it was called
	readBy     alarm.Bell[Duplex] // of reads

	writing     bool               // somebody writes: others wait in writers. Also until it is open
	writers     waiter.List        // for their turn
	forRoom     *waiter.Waiter     // the writer that waits for room in the Line
	room        bool               // there may be some now
	writeClosed bool               // CloseWrite was called
	writeBy     alarm.Bell[Duplex] // of writes

	gathered    *bufs.Block    // small writes that are still to be sent; nil: none
	gatherer    *sched.Context // of the function that is going to send them; nil: nobody
	flushing    bool           // they are being sent, by the writer
	noGathering bool           // EndGathering was called: no write is gathered
	refused     error          // why accepted ones could not be sent
	// the gathered writes found too little room: the next ones wait for room, until one has found
	// enough. The writer that has the turn changes it, with the lock held
	roomShort bool
}

// A Window says how many bytes that nobody reads are kept.
type Window struct {
	First int // before the Line is asked to pause for the first time
	Most  int // before it is asked to again
	Low   int // at which it is asked to go on, or a quarter of the kept bytes if that is less
	Bound int // the most that ViewIn waits for
}

// A State is how far a Duplex has come.
type State struct {
	Closed, WriteClosed, ReadClosed bool // Close, CloseWrite, CloseRead were called
	Reset                           bool // Close is to reset
	EOF                             bool // the peer has finished
	Late                            bool // a deadline has passed
	Gone                            bool // the Line has ended
	Failed                          error
	Opened                          bool
}

// Unopened is for a Duplex whose Line is still to open: writes wait for that.
func (d *Duplex) Unopened() { d.writing = true }

// Open gives the Duplex its Line. It returns the earlier requests, which the caller must carry out.
func (d *Duplex) Open(line Line, w Window) State {
	d.mu.Lock()
	was := d.state()
	d.line, d.window, d.most = line, w, w.First
	var u waiter.Wakeup
	d.nextWriter(&u)
	d.stir(&u)
	d.mu.Unlock()
	u.Wake()
	return was
}

// Take begins the Duplex as the goroutines' side of a Line that has been in use. No other goroutine
// knows the Duplex yet.
func (d *Duplex) Take(line Line, w Window, was State) {
	d.line, d.window, d.most = line, w, w.First
	d.writeClosed, d.readClosed, d.eof = was.WriteClosed, was.ReadClosed, was.EOF
}

// Push adds bytes received before any other goroutine knew the Duplex. It reports whether the Line
// is to pause.
func (d *Duplex) Push(p []byte) (pause bool) {
	if len(p) == 0 {
		return false
	}
	d.in.Append(p)
	d.account()
	d.pauseAsked = d.in.Bytes >= d.most
	return d.pauseAsked
}

// State is how far the Duplex has come.
func (d *Duplex) State() State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state()
}

func (d *Duplex) state() State {
	return State{Closed: d.closed, WriteClosed: d.writeClosed, ReadClosed: d.readClosed, Reset: d.reset, EOF: d.eof, Late: d.late(), Gone: d.gone, Failed: d.failed, Opened: d.line != nil}
}

// Arrived takes p, unless the Duplex was surrendered. The goroutine that has waited for longest
// gets it; bytes that nobody waits for are kept. It reports whether the Line is to pause.
// cx is the task's, which wakes others at a lower price.
func (d *Duplex) Arrived(cx *sched.Context, p []byte) (taken, pause bool) {
	var u waiter.Wakeup
	d.mu.Lock()
	switch {
	case d.surrendered:
		d.mu.Unlock()
		return false, true
	case d.closed || d.readClosed:
		d.mu.Unlock()
		return true, false
	}
	for w := d.readers.First(); d.in.Bytes == 0 && len(p) > 0 && w != nil && w.P != nil; w = d.readers.First() {
		d.readers.Remove(w)
		u.Add(w)
		w.N = copy(w.P, p)
		p, d.asked = p[w.N:], true
	}
	// a CopyTo is among them, or has been woken and not come yet
	if d.in.Append(p); d.readers.Len() > 0 {
		d.serve(&u)
	}
	pause = !d.pauseAsked && d.in.Bytes >= max(d.most, d.reach)
	if pause {
		d.pauseAsked = true
	}
	d.stir(&u)
	d.account() // the task passes freed memory on at the end of its run
	d.mu.Unlock()
	u.WakeFrom(cx)
	return true, pause
}

// Finished says that the peer sends nothing more: bytes received before are read first.
func (d *Duplex) Finished(cx *sched.Context) {
	var u waiter.Wakeup
	d.mu.Lock()
	d.eof = true
	d.serve(&u)
	d.stir(&u)
	notify := d.takeEnded()
	d.mu.Unlock()
	u.WakeFrom(cx)
	notify()
}

// Ended says that the Line is gone. err is nil if it ended in order. A second call does nothing
// and reports false.
func (d *Duplex) Ended(err error) (first bool) {
	var u waiter.Wakeup
	d.mu.Lock()
	if d.gone {
		d.mu.Unlock()
		return false
	}
	d.gone, d.failed = true, err
	d.dropGathered(cmp.Or(err, sock.Error("write", syscall.EPIPE)))
	d.serve(&u)
	d.stopWriters(&u, d.unwritable())
	if d.closedByUs() {
		d.readBy.Stop() // a timer of it would keep the Duplex
		d.writeBy.Stop()
	}
	notify := d.takeEnded()
	d.mu.Unlock()
	u.Wake()
	notify()
	return true
}

// closedByUs reports that the Line has ended, and neither by the peer nor by an error. The lock
// is held.
func (d *Duplex) closedByUs() bool { return d.gone && errors.Is(d.exhausted(), net.ErrClosed) }

// Unreadable is why nothing can be read even if bytes have arrived, or nil: for all readers of a
// stream. closed: it was closed here. late: the deadline has passed. readClosed: reading was ended
// here.
func Unreadable(closed, late, readClosed bool) error {
	switch {
	case closed:
		return net.ErrClosed
	case late:
		return os.ErrDeadlineExceeded
	case readClosed:
		return io.EOF
	}
	return nil
}

// Exhausted is why nothing will arrive any more, or nil: for all readers of a stream. failed is the
// error that has ended it. eof: the peer has finished. gone: it has ended.
func Exhausted(failed error, eof, gone bool) error {
	switch {
	case failed != nil:
		return failed
	case eof:
		return io.EOF
	case gone: // ended by its owner: bytes that the peer still sent were dropped
		return net.ErrClosed
	}
	return nil
}

// unreadable is Unreadable. The lock is held.
func (d *Duplex) unreadable() (err error, over bool) {
	if d.claimErr != nil && !d.closed {
		return d.claimErr, true
	}
	err = Unreadable(d.closed, d.readBy.Passed(), d.readClosed)
	return err, err != nil
}

// exhausted is Exhausted. The lock is held.
func (d *Duplex) exhausted() error { return Exhausted(d.failed, d.eof, d.gone) }

// unwritable is why nothing can be written, or nil. The lock is held.
func (d *Duplex) unwritable() error {
	switch {
	case d.closed:
		return net.ErrClosed
	case d.claimErr != nil:
		return d.claimErr
	case d.writeBy.Passed():
		return os.ErrDeadlineExceeded
	case d.writeClosed:
		return sock.Error("write", syscall.EPIPE)
	case d.failed != nil:
		return d.failed
	case d.gone:
		return sock.Error("write", syscall.EPIPE)
	case d.refused != nil:
		return d.refused
	}
	return nil
}

// Asked reports whether something was read after the last write began.
func (d *Duplex) Asked() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
}

// SetAsked sets the result of Asked, where reads and writes took place in another order.
func (d *Duplex) SetAsked(asked bool) {
	d.mu.Lock()
	d.asked = asked
	d.mu.Unlock()
}

// Buffered is how many bytes can be read without a wait.
func (d *Duplex) Buffered() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.in.Bytes
}

// Stats are the memory that a Duplex holds and the callers that wait for it, for reports and tests.
type Stats struct {
	Paused                 bool // the Line was asked to pause
	Bytes, Blocks          int  // received and not read, and the blocks that hold them
	AwaitsData, AwaitsRoom bool // a goroutine waits for bytes, or for room
}

// Stats is a snapshot.
func (d *Duplex) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Stats{Paused: d.pauseAsked, Bytes: d.in.Bytes, Blocks: d.in.Held(), AwaitsData: d.readers.Len() > 0, AwaitsRoom: d.forRoom != nil}
}
