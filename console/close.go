package console

import (
	"net/http"
	"strconv"

	"github.com/suiro-go/suiro/server"
)

// serveClose closes or resets the connection with the form's id.
func (c *console) serveClose(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<10)
	id, err := strconv.ParseUint(r.PostFormValue("id"), 10, 64)
	how := r.PostFormValue("how")
	if err != nil || how != "close" && how != "reset" {
		http.Error(w, "id must be a number, and how close or reset", http.StatusBadRequest)
		return
	}
	h, ok := c.find(id)
	if !ok {
		http.Error(w, "the connection has ended", http.StatusNotFound)
		return
	}
	if how == "close" {
		err = h.Close()
	} else {
		err = h.Abort()
	}
	if err != nil {
		http.Error(w, "the connection has ended", http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (c *console) find(id uint64) (server.Handle, bool) {
	if g := c.group(); g != nil && id != 0 {
		for o := range g.Connections() {
			if o.Handle.ID() == id {
				return o.Handle, true
			}
		}
	}
	return server.Handle{}, false
}
