package server

import (
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// An httpStay is a connection's time with net/http: some requests, from a first byte on
// until nothing follows within httpLinger. Then it gives the connection back to the workers,
// and its Read ends with an error, so that net/http lets go of it. The next byte makes
// another one.
//
// When that may be, net/http itself tells. At the end of a request, with all of its body
// read and all of the answer written, conn.serve in net/http does this, in one goroutine:
//
//  1. ConnState(StateIdle). The read that watches for a client that goes away is over.
//  2. SetReadDeadline for IdleTimeout, or for none.
//  3. Peek of four bytes, which reads only if fewer are in its buffer.
//  4. SetReadDeadline for the next header.
//
// So a Read between 2 and 4 is that of 3, and it may end if the buffer is empty: then
// its slice is as long as that of the first Read of all, when the buffer was empty too,
// because a bufio.Reader moves what it has to the front and reads into the rest. All
// this is looked at, nothing assumed: were net/http to change, a connection would stay
// with its goroutine. The tests compare what comes of it with net/http over package net.
type httpStay struct {
	socket  *Socket
	conn    net.Conn // what is read: the socket, or TLS over it
	early   []byte   // what was read of that before
	h       *httpHandler
	at      *httpServing
	watched *httpWatched  // what ConnState is told of
	late    time.Duration // after accept began the first header

	mayBeHTTP2 bool
	seen       int // bytes read, as far as mayBeHTTP2 wants to know
	phase      atomic.Int32
	size       int       // of net/http's buffer
	idleUntil  time.Time // what 2 said
	unread     atomic.Bool

	// inUse is held for reading by whoever uses the tls.Conn of an httpsConn, and for writing
	// while it is given back: a Close, of http.Server.SetKeepAlivesEnabled, say, that is
	// under way on another goroutine then would go on with what is a worker's. Without TLS
	// the Socket's own lock does that.
	inUse sync.RWMutex
}

// headerRead is for one whose first header net/http has read, and has looked since whether
// it stops: it reads on, or the connection is idle or at its end.
func (c *httpStay) headerRead() {
	if c.unread.Load() && c.unread.Swap(false) {
		c.at.headerRead()
	}
}

// An httpConn is the net.Conn that net/http has for that time. httpsConn is another.
type httpConn struct {
	*Socket
	httpStay
}

// Read implements net.Conn.
func (c *httpConn) Read(p []byte) (int, error) { return c.read(p) }

// SetReadDeadline implements net.Conn.
func (c *httpConn) SetReadDeadline(t time.Time) error { return c.setReadDeadline(t) }

// The phases of an httpStay.
const (
	httpFirst     = iota // net/http has read no header yet
	httpBusy             // a request is in progress, or it is not HTTP/1
	httpIdleState        // 1 was
	httpWaits            // and 2
	httpReturned         // the workers have the connection
)

// errHTTPIdle is what Read ends with when the connection is given back. Nobody sees it.
var errHTTPIdle = errors.New("server: no request is in progress")

// read is Read.
func (c *httpStay) read(p []byte) (int, error) {
	phase := c.phase.Load()
	if phase == httpFirst && c.size == 0 {
		c.size = len(p)
	}
	if len(c.early) > 0 {
		n := copy(p, c.early)
		c.early = c.early[n:]
		return n, nil
	}
	switch phase {
	case httpFirst:
		n, err := c.conn.Read(p)
		if c.mayBeHTTP2 && n > 0 {
			c.lookForHTTP2(p[:n])
		}
		return n, err
	case httpWaits:
		if len(p) == c.size && c.size > 0 {
			return c.await(p)
		}
		_ = c.socket.SetReadDeadline(c.idleUntil) // fails if it is closed: so does Read
	case httpReturned:
		return c.socket.Read(p)
	}
	c.headerRead()
	return c.conn.Read(p)
}

// lookForHTTP2 looks for the first word of an HTTP/2 connection, which is no method.
func (c *httpStay) lookForHTTP2(p []byte) {
	const word = "PRI "
	for _, b := range p {
		if b != word[c.seen] {
			c.mayBeHTTP2 = false
			return
		}
		if c.seen++; c.seen == len(word) {
			c.mayBeHTTP2 = false
			c.phase.Store(httpBusy) // for good: connState leaves it
			c.size = 0
			return
		}
	}
}

// await waits for a next request for a little while.
func (c *httpStay) await(p []byte) (int, error) {
	linger := c.h.linger
	if c.h.lingering.Add(1) > httpLingering {
		linger /= 10
	}
	defer c.h.lingering.Add(-1)
	until := time.Now().Add(linger)
	limited := !c.idleUntil.IsZero() && c.idleUntil.Before(until)
	if limited {
		until = c.idleUntil
	}
	if err := c.socket.SetReadDeadline(until); err != nil {
		return 0, err
	}
	n, err := c.conn.Read(p)
	if err != nil && !limited && errors.Is(err, os.ErrDeadlineExceeded) {
		if c.giveBack() {
			return 0, errHTTPIdle
		}
		_ = c.socket.SetReadDeadline(c.idleUntil) // something has come, or the connection ended
		return c.conn.Read(p)
	}
	if n > 0 {
		_ = c.socket.SetReadDeadline(c.idleUntil) // until four bytes have come
	}
	return n, err
}

// giveBack gives the connection back if it may be, and nobody uses it.
func (c *httpStay) giveBack() bool {
	if !c.inUse.TryLock() {
		return false
	}
	defer c.inUse.Unlock()
	until, h := c.idleUntil, c.h
	idle, sentry := h.hadOne, h.sentry()
	if c.watched != nil {
		idle = &httpIdle{h: h, state: c.watched}
	}
	give := func() bool {
		return c.socket.Return(func(c *Conn) error {
			c.SetValue(idle)
			if h.stopping.Load() {
				return h.endIdle(c)
			}
			if sentry == nil || sentry.ended() { // connections are not kept any more
				return c.Close()
			}
			return c.SetReadDeadline(until)
		})
	}
	var ok bool
	if c.watched != nil {
		ok = c.watched.handBack(give)
	} else {
		ok = give()
	}
	if ok {
		c.phase.Store(httpReturned)
	}
	return ok
}

// setReadDeadline is SetReadDeadline.
func (c *httpStay) setReadDeadline(t time.Time) error {
	switch c.phase.Load() {
	case httpFirst: // what net/http counts from accept on has begun before
		if c.late > 0 && t.After(time.Unix(1, 0)) {
			t = t.Add(-c.late)
		}
	case httpIdleState:
		c.idleUntil = t // Read sets it
		c.phase.Store(httpWaits)
		return nil
	case httpWaits:
		c.phase.Store(httpBusy)
	}
	return c.socket.SetReadDeadline(t)
}

// refuse ends a connection that net/http is not going to see.
func (c *httpStay) refuse() {
	c.headerRead()
	_ = c.socket.Close()
	if c.watched != nil {
		c.watched.tell(c.h.states, http.StateClosed)
	}
}

// connState is srv's ConnState.
func (h *httpHandler) connState(nc net.Conn, state http.ConnState) {
	var c *httpStay
	switch nc := nc.(type) {
	case *httpConn:
		c = &nc.httpStay
	case *httpsConn:
		c = &nc.httpStay
	case *httpSentry:
		return
	default: // it never leaves net/http
		if h.states != nil {
			h.states(nc, state)
		}
		return
	}
	if state == http.StateIdle || state == http.StateClosed || state == http.StateHijacked {
		c.headerRead()
	}
	switch {
	case state == http.StateIdle && c.size > 0:
		c.phase.Store(httpIdleState)
	case state == http.StateActive:
		c.phase.CompareAndSwap(httpFirst, httpBusy)
	case state == http.StateHijacked:
		c.phase.Store(httpBusy)
	}
	if c.watched != nil {
		c.watched.tellOf(h.states, state)
	}
}
