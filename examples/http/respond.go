package main

import (
	"bytes"
	"fmt"
	"html"
	"runtime"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/http/h1"
	"github.com/suiro-go/suiro/server"
)

const (
	plaintext = "Hello, World!"
	json      = `{"message":"Hello, World!"}`
)

// respond starts the response to the request in w.req, and finishes it unless a
// body is still to come.
func (h *handler) respond(c *server.Conn, s *session, w *perWorker) error {
	req := &w.req
	last := !req.KeepAlive || c.Draining()
	s.response.last = last
	if req.HasBody() {
		return s.response.begin(c, req)
	}
	get := string(req.Method) == "GET"
	head := string(req.Method) == "HEAD"
	if (get || head) && len(req.Path) > 0 {
		switch path := req.Path[1:]; {
		case string(path) == "plaintext":
			return w.answer.plain.write(c, w, last, head, "text/plain", plaintext)
		case string(path) == "json":
			return w.answer.json.write(c, w, last, head, "application/json", json)
		case len(path) == 0 && req.Header("User-Agent") != nil:
			// Without one it is not a person who asks: every path echoes.
			return write(c, w, h1.Head{Status: 200, ContentType: "text/html; charset=utf-8", Close: last, Minor: req.Minor}, h.page, head)
		}
	}
	return write(c, w, h1.Head{Status: 200, ContentType: "application/octet-stream", Close: last, Minor: req.Minor}, nil, head)
}

// write sends a whole response.
func write(c *server.Conn, w *perWorker, head h1.Head, body []byte, headOnly bool) error {
	head.ContentLength, head.Date = int64(len(body)), w.date()
	b := h1.AppendHead(c.AvailableBuffer(512), head)
	if !headOnly {
		b = append(b, body...)
	}
	_, err := c.Write(b)
	return err
}

// A response is an echo under way.
type response struct {
	headOnly, chunked bool
	started           bool // its head is written
	last              bool // the connection closes after it
	minor             int
	length            int64
	buffered          []byte    // a chunked body so far: one that turns out malformed must get a 400
	headBy            time.Time // of the next request's head, once that has begun
}

// begin notes what the echo of the request's body needs.
func (r *response) begin(c *server.Conn, req *h1.Request) error {
	r.headOnly = string(req.Method) == "HEAD"
	r.chunked, r.length, r.minor, r.started = req.Chunked, req.ContentLength, req.Minor, false
	if req.ExpectContinue {
		_, err := c.WriteString(h1.Continue100)
		return err
	}
	return nil
}

// body takes the next piece. One of a known length is passed on as it comes,
// within the connection's bounds; one in chunks only when it is whole.
func (r *response) body(c *server.Conn, w *perWorker, piece []byte, done bool) error {
	if r.chunked {
		r.buffered = append(r.buffered, piece...)
		if !done {
			return nil
		}
		piece, r.length, r.buffered = r.buffered, int64(len(r.buffered)), nil
	}
	if !r.started {
		r.started, r.last = true, r.last || c.Draining()
		head := h1.Head{Status: 200, ContentType: "application/octet-stream", ContentLength: r.length, Close: r.last, Minor: r.minor, Date: w.date()}
		if _, err := c.Write(h1.AppendHead(c.AvailableBuffer(512), head)); err != nil {
			return err
		}
	}
	if done {
		r.started = false
	}
	if r.headOnly {
		return nil
	}
	_, err := c.Write(piece)
	return err
}

// answers are the whole responses of one worker that change only with the date.
type answers struct {
	dates       h1.DateCache
	plain, json answer
}

// date is the Date of a response.
func (w *perWorker) date() []byte { return w.answer.dates.At(w.now.Unix()) }

// An answer is a response to a plain keep-alive request, formatted once a second.
type answer struct {
	second int64
	whole  []byte
}

func (a *answer) write(c *server.Conn, w *perWorker, last, headOnly bool, contentType, body string) error {
	if last || headOnly || w.req.Minor == 0 {
		return write(c, w, h1.Head{Status: 200, ContentType: contentType, Close: last, Minor: w.req.Minor}, []byte(body), headOnly)
	}
	if now := w.now.Unix(); now != a.second || a.whole == nil {
		head := h1.Head{Status: 200, ContentType: contentType, ContentLength: int64(len(body)), Minor: 1, Date: w.date()}
		a.second, a.whole = now, append(h1.AppendHead(a.whole[:0], head), body...)
	}
	_, err := c.Write(a.whole)
	return err
}

// describe prepares the page about the server: backend and workers.
func (h *handler) describe(g *conn.Group) {
	workers := g.Runtime().Workers()
	h.workers = make([]perWorker, workers+g.Runtime().Spares())
	var b bytes.Buffer
	fmt.Fprintf(&b, `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Suiro</title>
<style>body{font:16px/1.5 system-ui,sans-serif;margin:4em auto;max-width:32em}dt{color:#666}dd{margin:0 0 .7em}</style></head>
<body><h1>Suiro 水路</h1><dl>
<dt>Backend</dt><dd>%s</dd><dt>Workers</dt><dd>%d</dd><dt>Kernel</dt><dd>%s</dd><dt>Go</dt><dd>%s %s/%s</dd>
</dl><p><a href="/plaintext">/plaintext</a> <a href="/json">/json</a>; every other path echoes the request's body.</p></body></html>
`, g.Backend(), workers, html.EscapeString(kernel()), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	h.page = b.Bytes()
}
