package main

import (
	"errors"
	"time"

	"github.com/suiro-go/suiro/examples/http/h1"
	"github.com/suiro-go/suiro/server"
)

// A handler serves HTTP/1.1 connections. The state of a connection between two
// calls is its session.
type handler struct {
	server.Base
	limits   h1.Limits
	timeouts struct{ header, body, idle time.Duration }
	workers  []perWorker // made by describe, before the first connection
	page     []byte
}

// perWorker is what the requests of one worker share.
type perWorker struct {
	req    h1.Request
	answer answers
	now    time.Time // of the call of OnData
	_      [64]byte  // workers write to theirs all the time
}

func newHandler() *handler {
	h := &handler{}
	h.timeouts.header, h.timeouts.body, h.timeouts.idle = 10*time.Second, 30*time.Second, time.Minute
	return h
}

// A session is the state of one connection.
type session struct {
	parser   h1.Parser
	response response // to the request whose body is being read
	partial  bool     // a head has begun and not ended
}

// over reports whether the last response is complete.
func (s *session) over() bool { return s.response.last && !s.parser.InBody() }

func (h *handler) OnOpen(c *server.Conn) error {
	s := &session{}
	s.parser.Limits = &h.limits
	c.SetValue(s)
	return c.SetReadDeadline(c.Now().Add(h.timeouts.idle))
}

// OnData answers every request that is complete, so that the answers to
// pipelined ones leave as one send.
func (h *handler) OnData(c *server.Conn) error {
	s, w := c.Value().(*session), &h.workers[c.Worker()]
	w.now = c.Now()
	buf, _ := c.Peek(-1)
	rest := buf
	for len(rest) > 0 {
		n, err := h.step(c, s, w, rest)
		if err != nil {
			return h.refuse(c, s, w, err)
		}
		if rest = rest[n:]; n == 0 || s.over() {
			break
		}
	}
	_, _ = c.Discard(len(buf) - len(rest))
	return h.await(c, s, w)
}

// refuse answers an error of the parser; any other is the connection's.
func (h *handler) refuse(c *server.Conn, s *session, w *perWorker, err error) error {
	if bad := (*h1.Error)(nil); errors.As(err, &bad) {
		return h.reject(c, s, w, bad)
	}
	return err
}

// step takes one head, or one piece of a body, from the front of buf and returns
// its length: 0 when that needs bytes that have not come.
func (h *handler) step(c *server.Conn, s *session, w *perWorker, buf []byte) (int, error) {
	if s.parser.InBody() {
		n, piece, done, err := s.parser.ParseBody(buf)
		if err == nil && (n > 0 || done) {
			err = s.response.body(c, w, piece, done)
		}
		return n, err
	}
	n, err := s.parser.ParseHead(buf, &w.req)
	s.partial = n == 0
	if err == nil && n > 0 {
		s.response.headBy = time.Time{} // the next head has its own time
		err = h.respond(c, s, w)
	}
	return n, err
}

// await sets the time by which the next bytes must have come.
func (h *handler) await(c *server.Conn, s *session, w *perWorker) error {
	switch {
	case s.over():
		return c.Close()
	case s.parser.InBody():
		return c.SetReadDeadline(w.now.Add(h.timeouts.body))
	case !s.partial:
		s.response.headBy = time.Time{}
		return c.SetReadDeadline(w.now.Add(h.timeouts.idle))
	case s.response.headBy.IsZero(): // from the head's first bytes on, whatever trickles in after
		s.response.headBy = w.now.Add(h.timeouts.header)
	}
	return c.SetReadDeadline(s.response.headBy)
}

// reject answers a request that cannot be served, and closes: where the next
// one would begin is not known.
func (h *handler) reject(c *server.Conn, s *session, w *perWorker, bad *h1.Error) error {
	if s.response.started {
		return bad // too late for another answer
	}
	if _, err := c.Write(h1.AppendError(c.AvailableBuffer(512), bad, w.date())); err != nil {
		return err
	}
	return c.Close()
}

// OnDeadline answers 408 to a request that is taking too long; an idle
// connection is just closed.
func (h *handler) OnDeadline(c *server.Conn) error {
	s := c.Value().(*session)
	if !s.partial && !s.parser.InBody() {
		return c.Close()
	}
	w := &h.workers[c.Worker()]
	w.now = c.Now()
	return h.reject(c, s, w, &h1.Error{Status: 408, Reason: "request took too long"})
}

// OnDrain closes an idle connection once requests that have arrived are answered, and a busy one
// after the response.
func (h *handler) OnDrain(c *server.Conn) {
	s, ok := c.Value().(*session)
	if !ok || !s.partial && !s.parser.InBody() {
		h.Base.OnDrain(c)
		return
	}
	s.response.last = s.parser.InBody()
}
