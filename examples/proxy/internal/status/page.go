package status

import (
	"net/http"

	"github.com/suiro-go/suiro/admin"
	"github.com/suiro-go/suiro/console"
)

// A Proxy is what the pages show.
type Proxy interface {
	admin.Server
	console.Server
	Snapshot() *Snapshot
}

// Handler serves the console at /, the state of routes and upstreams at /status.json, and what
// package admin serves for the proxy. hosts are further names by which the console may be asked
// for. It needs a Guard around it.
func Handler(p Proxy, hosts []string) http.Handler {
	mux := admin.Handler(p)
	mux.Handle("/", console.Handler(p, &console.Config{Hosts: hosts}))
	mux.HandleFunc("GET /status.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = writeJSON(w, p.Snapshot())
	})
	return mux
}
