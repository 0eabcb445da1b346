package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

//go:embed page.html
var page []byte

// A web serves the page. A browser reads lines from /lines?room=NAME, as server-sent events. The
// first event has the PID of its process, with which it posts lines to /say?who=PID.
type web struct {
	http.ServeMux
	house *house

	mu     sync.Mutex
	guests map[string]guest
}

type guest struct{ who, room process.PID }

func newWeb(h *house) *web {
	w := &web{house: h, guests: map[string]guest{}}
	w.HandleFunc("GET /{$}", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = out.Write(page) // the client may have gone
	})
	w.HandleFunc("GET /lines", w.lines)
	w.HandleFunc("POST /say", w.say)
	return w
}

// lines is one visit of a browser. A process of its own is the member of the room.
func (w *web) lines(out http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("room")
	if !roomName.MatchString(name) {
		http.Error(out, "no such room", http.StatusBadRequest)
		return
	}
	sys := w.house.cluster.System()
	room, err := w.house.room(r.Context(), name)
	if err != nil {
		http.Error(out, err.Error(), http.StatusServiceUnavailable)
		return
	}
	events := make(chan string, clientMailbox)
	ref, err := process.Go(sys, process.Options{Mailbox: clientMailbox, Overflow: process.OverflowRefuse}, func(cx *sched.Context, self *process.Inbox[any]) error {
		self.Monitor(room)
		for {
			ev, err := self.ReceiveEvent(cx)
			if err != nil || ev.Type == process.EventCancel {
				return err
			}
			line, _ := ev.Data.([]byte)
			if ev.Type == process.EventDown {
				return errRoomEnded // the browser connects again
			}
			select {
			case events <- strings.TrimSpace(string(line)):
			default:
				return process.ErrMailboxFull
			}
		}
	})
	if err != nil {
		http.Error(out, err.Error(), http.StatusServiceUnavailable)
		return
	}
	me := ref.PID()
	ended := make(chan struct{})
	if _, ok := sys.OnEnd(me, func(error) { close(ended) }); !ok {
		close(ended)
	}
	w.mu.Lock()
	w.guests[me.String()] = guest{me, room}
	w.mu.Unlock()
	defer func() {
		_ = sys.Kill(me) // the room's monitor sees it
		w.mu.Lock()
		delete(w.guests, me.String())
		w.mu.Unlock()
	}()
	out.Header().Set("Content-Type", "text/event-stream")
	out.Header().Set("Cache-Control", "no-store")
	flush := http.NewResponseController(out)
	if err := sys.Send(r.Context(), room, enter{me}); err != nil {
		return
	}
	for line := me.String(); ; {
		if _, err := fmt.Fprintf(out, "data: %s\n\n", line); err != nil || flush.Flush() != nil {
			return
		}
		select {
		case line = <-events:
		case <-ended:
			return
		case <-r.Context().Done():
			return
		}
	}
}

var errRoomEnded = errors.New("the room has ended")

// say sends the line in the body to the room of a guest.
func (w *web) say(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	g, ok := w.guests[r.URL.Query().Get("who")]
	w.mu.Unlock()
	if !ok {
		http.Error(out, "no such guest", http.StatusNotFound)
		return
	}
	b, _ := io.ReadAll(io.LimitReader(r.Body, 1<<10)) // a longer line is cut
	line := strings.Join(strings.Fields(string(b)), " ")
	if line == "" {
		return
	}
	if err := w.house.cluster.System().Send(r.Context(), g.room, say{g.who, line}); err != nil {
		http.Error(out, err.Error(), http.StatusServiceUnavailable)
	}
}
