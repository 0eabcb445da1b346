package server

import (
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/sock"
)

// An httpStay is a connection's stay with net/http: some requests, from a first byte on until
// nothing follows within httpLinger. Then the connection returns to the workers: its Read ends with
// an error, so that net/http lets go of it. The next byte begins another stay.
//
// The order of calls in net/http shows when it may return. At the end of a request, with all of its
// body read and all of the answer written, conn.serve in net/http does this, in one goroutine:
//
// 1. ConnState(StateIdle). The background read that watches for a client that goes away is over.
// 2. SetReadDeadline for IdleTimeout, or for none.
// 3. Peek of four bytes, which reads only if fewer are in its buffer.
// 4. SetReadDeadline for the next header.
//
// So a Read between 2 and 4 is that of 3. It may end the stay if net/http's buffer is empty. Then
// its slice is as long as that of the very first Read, for which the buffer was empty too: a
// bufio.Reader moves its bytes to the front and reads into the rest. All of this is checked at run
// time. If net/http changed, a connection would stay with its goroutine. The tests compare the
// result with net/http over package net.
type httpStay struct {
	socket  *Socket
	conn    net.Conn // the connection to read: the socket, or TLS over it
	early   []byte   // bytes that were read from conn before the stay
	h       *httpHandler
	at      *httpServing
	watched *httpWatched  // the connection as ConnState knows it
	late    time.Duration // time from accept to the first header

	mayBeHTTP2 bool
	seen       int // bytes read, as far as mayBeHTTP2 needs them
	phase      atomic.Int32
	size       int       // of net/http's buffer
	idleUntil  time.Time // the deadline that net/http has set between two requests, in step 2 or 4
	unread     atomic.Bool
	closed     atomic.Bool // net/http has closed it, and reads no more of it

	mu    sync.Mutex // orders endSoon, the ends of httpWaits and httpHeader, and the deadlines of httpWaits
	endBy time.Time  // endSoon was called: when the wait is over at the latest

	// inUse guards the tls.Conn of an httpsConn. Its users hold it for reading, and the return to
	// the workers holds it for writing. Otherwise a Close on another goroutine, for example of
	// http.Server.SetKeepAlivesEnabled, would go on with a tls.Conn that belongs to a worker.
	// Without TLS the Socket's own lock does this.
	inUse sync.RWMutex
}

// headerRead is called when net/http has read the first header and has since checked whether it
// stops: it reads on, or the connection is idle or at its end.
func (c *httpStay) headerRead() {
	if c.unread.Load() && c.unread.Swap(false) {
		c.at.headerRead()
	}
}

// An httpConn is the net.Conn that net/http has during a stay. httpsConn is the one for HTTPS.
type httpConn struct {
	*Socket
	httpStay
}

// Read implements net.Conn.
func (c *httpConn) Read(p []byte) (int, error) { return c.read(p) }

// Close implements net.Conn.
func (c *httpConn) Close() error {
	if c.endSoon() {
		return nil
	}
	c.closed.Store(true)
	return c.Socket.Close()
}

// SetReadDeadline implements net.Conn.
func (c *httpConn) SetReadDeadline(t time.Time) error { return c.setReadDeadline(t) }

// The phases of an httpStay.
const (
	httpFirst     = iota // net/http has read no header yet
	httpBusy             // a request is in progress, or it is not HTTP/1
	httpIdleState        // step 1 is done
	httpWaits            // steps 1 and 2 are done
	httpHeader           // the next request's header has begun
	httpReturned         // the workers have the connection
)

// errHTTPIdle is the error of the Read at which the connection is given back. No user sees it.
var errHTTPIdle = errors.New("server: no request is in progress")

// endSoon is Close by another goroutine between two requests: net/http closes connections that it
// takes for idle. But a request may have arrived, in the kernel or on its way to Read, and until
// its header is whole net/http does not see it. So the connection stays open for httpMoment, or
// until the header is read, for at most httpPatience. It counts as one whose header is unread:
// net/http serves the request, and closes the connection with its answer. Else the Read fails.
//
// While net/http waits, its own goroutine closes the connection only after a Read that has failed.
// While it reads a header, it may do so for a malformed one. Then it calls connState, which closes
// the connection.
func (c *httpStay) endSoon() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	phase := c.phase.Load()
	if phase != httpWaits && phase != httpHeader {
		return false
	}
	if !c.endBy.IsZero() {
		return true
	}
	c.endBy = time.Now().Add(httpPatience)
	c.at.unread.Add(1) // first: else the server may see that none is left
	if c.unread.Swap(true) {
		c.at.headerRead()
	}
	_ = c.setLimit(c.idleUntil) // fails if it is closed, and so does Read
	return true
}

// busy ends the wait for the next request, or for the rest of its header.
func (c *httpStay) busy() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phase.Store(httpBusy)
	if !c.endBy.IsZero() {
		c.endBy = time.Time{}
		_ = c.socket.SetReadDeadline(c.idleUntil) // fails if it is closed, and so does Read
	}
}

// limit sets the deadline of a Read between two requests.
func (c *httpStay) limit(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.setLimit(t)
}

// setLimit is limit. The lock is held.
func (c *httpStay) setLimit(t time.Time) error {
	if !c.endBy.IsZero() {
		by := c.endBy
		if soon := time.Now().Add(httpMoment); c.phase.Load() == httpWaits && soon.Before(by) {
			by = soon
		}
		if t.IsZero() || by.Before(t) {
			t = by
		}
	}
	return c.socket.SetReadDeadline(t)
}

// arrives reports whether the kernel has bytes that are about to be read.
func (c *httpStay) arrives() bool {
	raw, err := c.socket.SyscallConn()
	unread := 0
	if err == nil {
		err = raw.Control(func(fd uintptr) { unread = sock.Unread(int(fd)) })
	}
	return err == nil && unread > 0
}

// ends reports whether endSoon was called, and whether the wait may still go on.
func (c *httpStay) ends() (ends, mayWait bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.endBy.IsZero(), time.Now().Before(c.endBy)
}

// read implements Read. A Read that was about to return when net/http closed the connection fails:
// no handler gets a request that cannot be answered.
func (c *httpStay) read(p []byte) (int, error) {
	n, err := c.receive(p)
	if err == nil && c.closed.Load() {
		return 0, net.ErrClosed
	}
	if err != nil && c.phase.Load() == httpWaits {
		c.busy()
	}
	return n, err
}

func (c *httpStay) receive(p []byte) (int, error) {
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
		_ = c.limit(c.idleUntil) // fails if the connection is closed, and so does Read
	case httpHeader:
		return c.conn.Read(p)
	case httpReturned:
		return c.socket.Read(p)
	}
	c.headerRead()
	return c.conn.Read(p)
}

// lookForHTTP2 looks for the first word of the HTTP/2 preface, which is no method.
func (c *httpStay) lookForHTTP2(p []byte) {
	const word = "PRI "
	for _, b := range p {
		if b != word[c.seen] {
			c.mayBeHTTP2 = false
			return
		}
		if c.seen++; c.seen == len(word) {
			c.mayBeHTTP2 = false
			c.phase.Store(httpBusy) // for good: connState does not change it
			c.size = 0
			return
		}
	}
}

// await waits for the next request, for at most httpLinger.
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
	if err := c.limit(until); err != nil {
		return 0, err
	}
	n, err := c.conn.Read(p)
	for err != nil {
		ends, mayWait := c.ends()
		if !ends {
			break
		}
		if !mayWait || !errors.Is(err, os.ErrDeadlineExceeded) || !c.arrives() {
			return n, err // net/http closes it
		}
		_ = c.limit(c.idleUntil)
		n, err = c.conn.Read(p)
	}
	if err != nil && !limited && errors.Is(err, os.ErrDeadlineExceeded) {
		if c.giveBack() {
			return 0, errHTTPIdle
		}
		_ = c.limit(c.idleUntil) // bytes have arrived, or the connection ended
		return c.conn.Read(p)
	}
	if n > 0 {
		_ = c.limit(c.idleUntil) // until four bytes have arrived
	}
	return n, err
}

// giveBack gives the connection back to the workers if this is allowed and it is not in use.
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
			if sentry == nil || sentry.ended() { // keep-alives are disabled, or the server stops
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

// setReadDeadline implements SetReadDeadline.
func (c *httpStay) setReadDeadline(t time.Time) error {
	switch c.phase.Load() {
	case httpFirst: // the time limit that net/http starts at accept has begun before
		if c.late > 0 && t.After(time.Unix(1, 0)) {
			t = t.Add(-c.late)
		}
	case httpIdleState:
		c.idleUntil = t // Read sets it
		c.phase.Store(httpWaits)
		return nil
	case httpWaits, httpHeader:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.phase.Store(httpHeader)
		c.idleUntil = t
		return c.setLimit(t)
	}
	return c.socket.SetReadDeadline(t)
}

// refuse ends a connection that net/http will not get.
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
	default: // an HTTP/2 connection never leaves net/http
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
	case state == http.StateActive && c.phase.Load() == httpFirst, state == http.StateHijacked:
		c.phase.Store(httpBusy)
	case state == http.StateActive && c.phase.Load() == httpHeader:
		c.busy()
	case state == http.StateClosed && c.phase.Load() == httpHeader:
		c.busy()
		_ = nc.Close() // it was put off, or has been done
	}
	if c.watched != nil {
		c.watched.tellOf(h.states, state)
	}
}
