package console

import (
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"
	"runtime/trace"
	"sync"
	"time"

	"github.com/suiro-go/suiro/blocking"
)

// A Config configures a Handler. The zero value is a good default.
type Config struct {
	// Hosts are names of this host that requests may use, without a port. IP addresses and
	// localhost always may. nil: no other.
	Hosts []string

	// Recorder is the process's flight recorder, from which the page saves snapshots. The page
	// neither starts nor stops it, and nobody may while the page saves one. nil: there is no such
	// button.
	Recorder *trace.FlightRecorder

	// Warnings are the warnings of the log that the page shows. nil: it shows none.
	Warnings *Warnings

	// Pools are pools of package blocking that the page shows, by name. nil: none.
	Pools map[string]*blocking.Pool

	// MaxConns bounds the connections that the page lists. 0: 1000.
	MaxConns int

	// Interval is the time between two updates of the page, at least 100 ms. 0: 1 s.
	Interval time.Duration
}

const (
	defaultMaxConns = 1000
	defaultInterval = time.Second
	leastInterval   = 100 * time.Millisecond
	mostStreams     = 16 // pages that are live at the same time
)

//go:embed page
var files embed.FS

// A console is the state of a Handler.
type console struct {
	cfg    Config
	server Server

	mu      sync.Mutex
	asked   chan answers // the server has not answered yet; nil: nothing was asked
	known   answers      // the last
	streams int
	last    []byte    // the last snapshot, as JSON
	at      time.Time // when it was made

	shutdown sync.Map // *http.Server: a channel that is closed when it shuts down
}

// Handler returns the page of a server, with all that belongs to it. Mount it at a path that ends
// in "/", with http.StripPrefix unless that is the root. cfg may be nil. The server need not serve
// yet. The page costs nothing while no browser shows it.
func Handler(s Server, cfg *Config) http.Handler {
	c := &console{server: s}
	if cfg != nil {
		c.cfg = *cfg
	}
	if c.cfg.MaxConns <= 0 {
		c.cfg.MaxConns = defaultMaxConns
	}
	if c.cfg.Interval <= 0 {
		c.cfg.Interval = defaultInterval
	}
	c.cfg.Interval = max(c.cfg.Interval, leastInterval)
	page, _ := fs.Sub(files, "page") // it is embedded
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.FileServerFS(page))
	mux.Handle("GET /console.js", http.FileServerFS(page))
	mux.Handle("GET /console.css", http.FileServerFS(page))
	mux.HandleFunc("GET /snapshot.json", c.serveSnapshot)
	mux.HandleFunc("GET /stream", c.serveStream)
	mux.HandleFunc("GET /events.json", c.serveEvents)
	mux.HandleFunc("GET /dump", c.serveDump)
	mux.HandleFunc("POST /close", c.serveClose)
	mux.HandleFunc("POST /flight", c.serveFlight)
	return c.guard(mux)
}

// serveSnapshot answers with what the stream sends.
func (c *console) serveSnapshot(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(c.snapshotJSON())
}

// snapshotJSON is a snapshot that is not older than half an interval.
func (c *console) snapshotJSON() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || time.Since(c.at) > c.cfg.Interval/2 {
		c.last, _ = json.Marshal(c.snapshot()) // of strings and numbers
		c.at = time.Now()
	}
	return c.last
}

// serveEvents answers with the events of the workers, for the timeline and for Perfetto.
func (c *console) serveEvents(w http.ResponseWriter, _ *http.Request) {
	g := c.group()
	if g == nil {
		http.Error(w, "the server does not serve", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = g.WriteTrace(w)
}

func (c *console) serveDump(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_ = c.server.Dump(w)
}

// serveFlight answers with a snapshot of the flight recorder.
func (c *console) serveFlight(w http.ResponseWriter, _ *http.Request) {
	r := c.cfg.Recorder
	if r == nil {
		http.Error(w, "Config.Recorder is nil", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="flight.trace"`)
	if n, err := r.WriteTo(w); err != nil && n == 0 { // it does not record, or somebody else takes a snapshot
		w.Header().Del("Content-Disposition")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}
