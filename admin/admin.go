// Package admin serves what operators and their systems ask a program for: figures, and whether it
// is alive and ready.
//
// Serve it at an address of its own, by package net/http: it then answers also while the workers of
// the servers are stuck.
//
//	mux := admin.Handler(s)
//	go http.ListenAndServe("127.0.0.1:9090", mux)
package admin

import (
	"fmt"
	"net/http"

	"github.com/suiro-go/suiro/metrics"
)

// A Server is a *server.Server, or a type that acts like one.
type Server interface {
	metrics.Source

	// Ready returns nil while the server accepts work, and otherwise why it does not.
	Ready() error
}

// Handler returns a handler for these paths. Others can be added to it.
//   - /metrics has the figures of all servers: see metrics.Handler.
//   - /healthz answers 200 as long as the process answers at all.
//   - /readyz answers 200 if all servers are ready. Otherwise it answers 503 with the reasons, as
//     before a server serves and once it is shutting down.
//
// The answers name addresses of the servers. So serve them where only operators can reach them.
func Handler(servers ...Server) *http.ServeMux {
	mux := http.NewServeMux()
	sources := make([]metrics.Source, len(servers))
	for i, s := range servers {
		sources[i] = s
	}
	mux.Handle("GET /metrics", metrics.Handler(sources...))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		text := ""
		for _, s := range servers {
			if err := s.Ready(); err != nil {
				text += fmt.Sprintf("%v\n", err)
			}
		}
		if text != "" {
			answer(w, http.StatusServiceUnavailable, text)
			return
		}
		answer(w, http.StatusOK, "ready\n")
	})
	return mux
}

func answer(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, text) // the client has gone
}
