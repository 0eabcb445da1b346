package console

import (
	"net/http"
	"time"
)

// serveStream sends snapshots as server-sent events until the browser leaves, the server has
// stopped, or the server of the page shuts down.
func (c *console) serveStream(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead { // its answer ends with its head
		w.Header().Set("Content-Type", "text/event-stream")
		return
	}
	if !c.enterStream() {
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer c.leaveStream()
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	down := c.shutdownOf(r)
	tick := time.NewTicker(c.cfg.Interval)
	defer tick.Stop()
	for {
		_ = control.SetWriteDeadline(time.Now().Add(10 * time.Second)) // where it is supported
		if _, err := w.Write(append(append([]byte("data: "), c.snapshotJSON()...), "\n\n"...)); err != nil {
			return
		}
		if err := control.Flush(); err != nil || c.hasEnded() {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-down:
			return
		}
	}
}

func (c *console) enterStream() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams >= mostStreams {
		return false
	}
	c.streams++
	return true
}

func (c *console) leaveStream() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams--
}

// shutdownOf is closed when the http.Server of a request shuts down. Its Shutdown waits for
// requests, so the streams must end by themselves.
func (c *console) shutdownOf(r *http.Request) <-chan struct{} {
	srv, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	if srv == nil {
		return nil
	}
	made := make(chan struct{})
	old, loaded := c.shutdown.LoadOrStore(srv, made)
	if loaded {
		return old.(chan struct{})
	}
	srv.RegisterOnShutdown(func() { close(made) })
	return made
}
