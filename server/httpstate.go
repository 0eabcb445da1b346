package server

import (
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/suiro-go/suiro/conn"
)

// An httpWatched is a connection as http.Server.ConnState knows it, from the first state to the
// last. Meanwhile it has several httpConns, one after the other. net/http begins each of them with
// StateNew and ends it with StateClosed. It exists only if there is a ConnState.
type httpWatched struct {
	handle        conn.Handle
	states        func(net.Conn, http.ConnState)
	local, remote net.Addr

	mu     sync.Mutex
	spare  int       // number of StateClosed to ignore, of httpConns that were given back
	over   bool      // the last state was reported
	closed bool      // Close was called
	stay   *httpStay // net/http has it; nil: the workers do
}

var _ net.Conn = (*httpWatched)(nil)

// tell reports a state for the workers, which have no httpConn.
func (w *httpWatched) tell(states func(net.Conn, http.ConnState), state http.ConnState) {
	if w.pass(state, false) {
		states(w, state)
	}
}

// tellOf reports a state of net/http.
func (w *httpWatched) tellOf(states func(net.Conn, http.ConnState), state http.ConnState) {
	if state != http.StateNew && w.pass(state, true) { // the workers have reported StateNew
		states(w, state)
	}
}

// pass reports whether a state has not been reported yet.
func (w *httpWatched) pass(state http.ConnState, fromHTTP bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over:
		return false
	case state == http.StateClosed && fromHTTP && w.spare > 0:
		w.spare--
		return false
	case state == http.StateClosed || state == http.StateHijacked:
		w.over = true
	}
	return true
}

// lend notes that net/http is about to get the connection, unless it was closed.
func (w *httpWatched) lend(to *httpStay) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.stay = to
	}
	return !w.closed
}

// handBack gives the connection back by giveBack, unless it was closed. net/http then ends the
// httpConn with a StateClosed, which is ignored. The lock is held throughout, so that Close sees
// which side has the connection.
func (w *httpWatched) handBack(giveBack func() bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || !giveBack() {
		return false
	}
	w.spare++
	w.stay = nil
	return true
}

// Close implements net.Conn. When it has returned, no answer begins to be sent: either net/http has
// the connection, whose Write fails from now on, or it does not get the connection any more.
// StateClosed is reported soon, whatever the peer does, by net/http or by a worker.
func (w *httpWatched) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return w.opError("close", net.ErrClosed)
	}
	w.closed = true
	stay := w.stay
	w.mu.Unlock()
	if stay != nil { // and it stays so: handBack sees closed
		return stay.conn.Close()
	}
	return w.handle.Do(func(c *Conn) {
		w.tell(w.states, http.StateClosed)
		_ = c.Close() // it may be closing
	})
}

// LocalAddr implements net.Conn.
func (w *httpWatched) LocalAddr() net.Addr { return w.local }

// RemoteAddr implements net.Conn.
func (w *httpWatched) RemoteAddr() net.Addr { return w.remote }

// Read implements net.Conn. It returns an error: a function that gets a state must not read.
func (w *httpWatched) Read([]byte) (int, error) { return 0, w.refuse("read") }

// Write implements net.Conn, as Read does.
func (w *httpWatched) Write([]byte) (int, error) { return 0, w.refuse("write") }

// SetDeadline implements net.Conn, as Read does.
func (w *httpWatched) SetDeadline(time.Time) error { return w.refuse("set") }

// SetReadDeadline implements net.Conn, as Read does.
func (w *httpWatched) SetReadDeadline(time.Time) error { return w.refuse("set") }

// SetWriteDeadline implements net.Conn, as Read does.
func (w *httpWatched) SetWriteDeadline(time.Time) error { return w.refuse("set") }

func (w *httpWatched) refuse(op string) error { return w.opError(op, os.ErrInvalid) }

func (w *httpWatched) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: w.remote.Network(), Source: w.local, Addr: w.remote, Err: err}
}
