package server

import (
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/suiro-go/suiro/conn"
)

// An httpWatched is a connection as http.Server.ConnState knows it, from the first state
// to the last, while httpConns come and go, each of which net/http begins with StateNew
// and ends with StateClosed. It exists only if there is a ConnState.
type httpWatched struct {
	handle        conn.Handle
	local, remote net.Addr

	mu    sync.Mutex
	spare int  // StateClosed that are to come of httpConns that were given back
	over  bool // the last state was told
}

var _ net.Conn = (*httpWatched)(nil)

// tell is for the workers, for which there is no httpConn.
func (w *httpWatched) tell(states func(net.Conn, http.ConnState), state http.ConnState) {
	if w.pass(state, false) {
		states(w, state)
	}
}

// tellOf is for net/http.
func (w *httpWatched) tellOf(states func(net.Conn, http.ConnState), state http.ConnState) {
	if state != http.StateNew && w.pass(state, true) { // the workers have told that
		states(w, state)
	}
}

// pass reports whether a state is news.
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

// handBack says that one StateClosed of net/http means nothing; keep takes that back.
func (w *httpWatched) handBack() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spare++
}

func (w *httpWatched) keep() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spare--
}

// Close implements net.Conn.
func (w *httpWatched) Close() error { return w.handle.Close() }

// LocalAddr implements net.Conn.
func (w *httpWatched) LocalAddr() net.Addr { return w.local }

// RemoteAddr implements net.Conn.
func (w *httpWatched) RemoteAddr() net.Addr { return w.remote }

// Read implements net.Conn: whoever is told of a state must not.
func (w *httpWatched) Read([]byte) (int, error) { return 0, w.refuse("read") }

// Write implements net.Conn, as Read does.
func (w *httpWatched) Write([]byte) (int, error) { return 0, w.refuse("write") }

// SetDeadline implements net.Conn, as Read does.
func (w *httpWatched) SetDeadline(time.Time) error { return w.refuse("set") }

// SetReadDeadline implements net.Conn, as Read does.
func (w *httpWatched) SetReadDeadline(time.Time) error { return w.refuse("set") }

// SetWriteDeadline implements net.Conn, as Read does.
func (w *httpWatched) SetWriteDeadline(time.Time) error { return w.refuse("set") }

func (w *httpWatched) refuse(op string) error {
	return &net.OpError{Op: op, Net: w.remote.Network(), Source: w.local, Addr: w.remote, Err: os.ErrInvalid}
}
