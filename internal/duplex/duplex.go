package duplex

import (
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
)

// A Line is the connection beneath a Duplex. No lock of the Duplex is held during a call,
// except Keep's. Any goroutine makes the calls.
type Line interface {
	// Put sends p, or queues it, as far as there is room. It returns how much that was. If it
	// was not all, MadeRoom is called once another Put is worth trying, or the Line has ended.
	// There is one call at a time.
	Put(p []byte) (int, error)
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

// A Duplex is the goroutines' side of a Line. Methods whose names begin as a Line's events do
// (Open, Arrived, Finished, Ended, MadeRoom) are for the Line's task, all others for any
// goroutine. The zero value has a Line that is open, once Open has been called; see Unopened.
type Duplex struct {
	mu     sync.Mutex // guards what follows; taken before any lock of the Line, never after it
	line   Line       // nil: not open yet
	window Window
	most   int // bytes that are kept before the Line is asked to pause

	closed bool  // Close was called
	reset  bool  // Close is to reset
	gone   bool  // the Line has ended
	failed error // why, if that was not in order

	surrendered bool // Surrender has succeeded: what arrives is not for the Duplex

	in bufs.Blocks // received bytes
	// they wait for more: while there are some, in is empty, or left to a CopyTo that is about to
	// come
	readers waiter.List
	behind  int                // bytes that wait in the Line, as of Books
	held    bool               // the Line was asked to pause
	deaf    bool               // CloseRead was called
	eof     bool               // the peer has finished
	ended   func()             // NotifyEnd's; nil: nobody's, or it was called
	readBy  alarm.Bell[Duplex] // of reads

	writing bool               // somebody writes: others wait in writers. Also until it is open
	writers waiter.List        // for their turn
	forRoom *waiter.Waiter     // the writer that waits for room in the Line
	room    bool               // there may be some now
	mute    bool               // CloseWrite was called
	writeBy alarm.Bell[Duplex] // of writes
}

// A Window says how many bytes that nobody reads are kept.
type Window struct {
	First int // before the Line is asked to pause for the first time
	Most  int // before it is asked to again
	Low   int // at which it is asked to go on, or a quarter of the kept bytes if that is less
}

// A State is how far a Duplex has come.
type State struct {
	Closed, Mute, Deaf bool // Close, CloseWrite, CloseRead were called
	EOF                bool // the peer has finished
	Gone               bool // the Line has ended
	Failed             error
	Opened             bool
}

// Unopened is for a Duplex whose Line is still to open: writes wait for that.
func (d *Duplex) Unopened() { d.writing = true }

// Open gives the Duplex its Line. It returns the earlier requests, which the caller must carry out.
func (d *Duplex) Open(line Line, w Window) State {
	d.mu.Lock()
	was := d.state()
	d.line, d.window, d.most = line, w, w.First
	next := d.nextWriter()
	d.mu.Unlock()
	if next != nil {
		next.Wake()
	}
	return was
}

// Take begins the Duplex as the goroutines' side of a Line that has been in use. No other goroutine
// knows the Duplex yet.
func (d *Duplex) Take(line Line, w Window, was State) {
	d.line, d.window, d.most = line, w, w.First
	d.mute, d.deaf, d.eof = was.Mute, was.Deaf, was.EOF
}

// Push adds bytes received before any other goroutine knew the Duplex. It reports whether the Line
// is to pause.
func (d *Duplex) Push(p []byte) (pause bool) {
	if len(p) == 0 {
		return false
	}
	d.in.Append(p)
	d.account()
	d.held = d.in.Bytes >= d.most
	return d.held
}

// State is how far the Duplex has come.
func (d *Duplex) State() State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state()
}

func (d *Duplex) state() State {
	return State{Closed: d.closed, Mute: d.mute, Deaf: d.deaf, EOF: d.eof, Gone: d.gone, Failed: d.failed, Opened: d.line != nil}
}

// Arrived takes p, unless the Duplex was surrendered. The goroutine that has waited for longest
// gets it; bytes that nobody waits for are kept. It reports whether the Line is to pause.
func (d *Duplex) Arrived(p []byte) (taken, pause bool) {
	var u waiter.Wakeup
	d.mu.Lock()
	switch {
	case d.surrendered:
		d.mu.Unlock()
		return false, true
	case d.closed || d.deaf:
		d.mu.Unlock()
		return true, false
	}
	for w := d.readers.First(); d.in.Bytes == 0 && len(p) > 0 && w != nil && w.P != nil; w = d.readers.First() {
		d.readers.Remove(w)
		u.Add(w)
		w.N = copy(w.P, p)
		p = p[w.N:]
	}
	// a CopyTo is among them, or has been woken and not come yet
	if d.in.Append(p); d.readers.Len() > 0 {
		d.serve(&u)
	}
	pause = !d.held && d.in.Bytes >= d.most
	if pause {
		d.held = true
	}
	d.account() // the task passes freed memory on at the end of its run
	d.mu.Unlock()
	u.Wake()
	return true, pause
}

// Finished says that the peer sends nothing more: bytes received before are read first.
func (d *Duplex) Finished() {
	var u waiter.Wakeup
	d.mu.Lock()
	d.eof = true
	d.serve(&u)
	notify := d.takeEnded()
	d.mu.Unlock()
	u.Wake()
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

// unreadable reports that, and why, nothing can be read even if bytes have arrived. The lock is
// held.
func (d *Duplex) unreadable() (err error, over bool) {
	switch {
	case d.closed:
		return net.ErrClosed, true
	case d.readBy.Passed():
		return os.ErrDeadlineExceeded, true
	case d.deaf:
		return io.EOF, true
	}
	return nil, false
}

// exhausted is why nothing will arrive any more, or nil. The lock is held.
func (d *Duplex) exhausted() error {
	switch {
	case d.failed != nil:
		return d.failed
	case d.eof:
		return io.EOF
	case d.gone: // ended by the Line's owner: bytes that the peer still sent were dropped
		return net.ErrClosed
	}
	return nil
}

// unwritable is why nothing can be written, or nil. The lock is held.
func (d *Duplex) unwritable() error {
	switch {
	case d.closed:
		return net.ErrClosed
	case d.writeBy.Passed():
		return os.ErrDeadlineExceeded
	case d.mute:
		return sock.Error("write", syscall.EPIPE)
	case d.failed != nil:
		return d.failed
	case d.gone:
		return sock.Error("write", syscall.EPIPE)
	}
	return nil
}

// Stats say what a Duplex holds and who waits for it, for reports and tests.
type Stats struct {
	Paused                 bool // the Line was asked to pause
	Bytes, Blocks          int  // received and not read, and the blocks that hold them
	AwaitsData, AwaitsRoom bool // a goroutine waits for bytes, or for room
}

// Stats is a snapshot.
func (d *Duplex) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Stats{Paused: d.held, Bytes: d.in.Bytes, Blocks: d.in.Held(), AwaitsData: d.readers.Len() > 0, AwaitsRoom: d.forRoom != nil}
}
