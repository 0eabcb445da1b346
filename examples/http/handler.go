package main

import (
	"errors"
	"time"

	"github.com/suiro-go/suiro/examples/http/h1"
	"github.com/suiro-go/suiro/server"
)

// A handler serves HTTP/1.1 connections. What a connection needs to remember
// between two calls is its session.
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
	_      [64]byte // workers write to theirs all the time
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
	draining bool     // the server shuts down: the next response is the last
}

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
	for c.Buffered() > 0 {
		more, err := h.step(c, s, w)
		var bad *h1.Error
		switch {
		case errors.As(err, &bad):
			return h.reject(c, s, w, bad)
		case err != nil:
			return err
		case !more:
			return h.await(c, s)
		}
	}
	return h.await(c, s)
}

// step takes one head, or one piece of a body. more is false when that needs
// bytes that have not come, or when the connection closes.
func (h *handler) step(c *server.Conn, s *session, w *perWorker) (more bool, err error) {
	buf, _ := c.Peek(-1)
	if s.parser.InBody() {
		n, piece, done, err := s.parser.ParseBody(buf)
		if err != nil || n == 0 && !done {
			return false, err
		}
		err = s.response.body(c, w, piece, done)
		_, _ = c.Discard(n)
		return err == nil && !(done && s.response.last), err
	}
	n, err := s.parser.ParseHead(buf, &w.req)
	if err != nil || n == 0 {
		s.partial = n == 0
		return false, err
	}
	s.partial = false
	err = h.respond(c, s, w)
	_, _ = c.Discard(n)
	return err == nil && (!s.response.last || s.parser.InBody()), err
}

// await sets the time by which the next bytes must have come.
func (h *handler) await(c *server.Conn, s *session) error {
	switch {
	case !s.parser.InBody() && s.response.last:
		return c.Close()
	case s.parser.InBody():
		return c.SetReadDeadline(c.Now().Add(h.timeouts.body))
	case !s.partial:
		s.response.headBy = time.Time{}
		return c.SetReadDeadline(c.Now().Add(h.timeouts.idle))
	case s.response.headBy.IsZero(): // from the head's first bytes on, whatever trickles in after
		s.response.headBy = c.Now().Add(h.timeouts.header)
	}
	return c.SetReadDeadline(s.response.headBy)
}

// reject answers a request that cannot be served, and closes: where the next
// one would begin is not known.
func (h *handler) reject(c *server.Conn, s *session, w *perWorker, bad *h1.Error) error {
	if s.response.started {
		return bad // too late for another answer
	}
	if _, err := c.Write(h1.AppendError(c.AvailableBuffer(512), bad, w.answer.date(c))); err != nil {
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
	return h.reject(c, s, &h.workers[c.Worker()], &h1.Error{Status: 408, Reason: "request took too long"})
}

// OnDrain closes an idle connection, and a busy one after the response.
func (h *handler) OnDrain(c *server.Conn) {
	s, ok := c.Value().(*session)
	if !ok || !s.partial && !s.parser.InBody() {
		_ = c.Close()
		return
	}
	s.draining, s.response.last = true, s.parser.InBody()
}
