package main

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"

	"github.com/suiro-go/suiro/server"
)

// pages are those of examples/http: a text, an object, a page about the server, and an echo.
type pages struct {
	of      *server.Server
	maxBody int64
}

// ServeHTTP implements http.Handler.
func (h *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		switch r.URL.Path {
		case "/plaintext":
			respond(w, "text/plain", "Hello, World!")
			return
		case "/json":
			respond(w, "application/json", `{"message":"Hello, World!"}`)
			return
		case "/":
			respond(w, "text/html; charset=utf-8", h.about(r))
			return
		}
	}
	h.echo(w, r)
}

func respond(w http.ResponseWriter, kind, body string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write([]byte(body)) // the client may have gone
}

// about is the page about the server.
func (h *pages) about(r *http.Request) string {
	g := h.of.Group()
	return fmt.Sprintf(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Suiro</title>
<style>body{font:16px/1.5 system-ui,sans-serif;margin:4em auto;max-width:32em}dt{color:#666}dd{margin:0 0 .7em}</style></head>
<body><h1>Suiro 水路</h1><dl>
<dt>Protocol</dt><dd>%s</dd><dt>Backend</dt><dd>%s</dd><dt>Workers</dt><dd>%d</dd><dt>Go</dt><dd>%s %s/%s</dd>
</dl><p><a href="/plaintext">/plaintext</a> <a href="/json">/json</a>; every other path echoes the request's body.</p></body></html>
`, r.Proto, g.Backend(), g.Runtime().Workers(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// echo answers with the request's body, while it arrives.
func (h *pages) echo(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength > h.maxBody {
		http.Error(w, "the body is too large", http.StatusRequestEntityTooLarge)
		return
	}
	rc := http.NewResponseController(w)
	_ = rc.EnableFullDuplex() // only HTTP/1.1 knows it; the others are always so
	w.Header().Set("Content-Type", "application/octet-stream")
	if r.ContentLength >= 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
	}
	body := http.MaxBytesReader(w, r.Body, h.maxBody)
	p := make([]byte, 16<<10)
	for {
		n, err := body.Read(p)
		if n > 0 {
			if _, werr := w.Write(p[:n]); werr != nil || rc.Flush() != nil {
				return
			}
		}
		switch err {
		case nil:
		case io.EOF:
			return
		default: // the client must not take the answer for a whole one
			panic(http.ErrAbortHandler)
		}
	}
}
