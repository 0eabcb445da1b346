package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	tea "charm.land/bubbletea/v2"
)

// A snapshot is what the console's stream sends, as far as the view shows it.
type snapshot struct {
	State       string       `json:"state"`
	Backend     string       `json:"backend"`
	Uptime      float64      `json:"uptime"` // seconds
	Connections int          `json:"connections"`
	Buffered    int          `json:"buffered"`
	Goroutines  int          `json:"goroutines"`
	Errors      uint64       `json:"handlerErrors"`
	Panics      uint64       `json:"handlerPanics"`
	Tasks       int          `json:"tasks"`
	Timers      int          `json:"timers"`
	Global      int          `json:"globalQueue"`
	Listeners   []string     `json:"listeners"`
	Workers     []worker     `json:"workers"`
	Handlers    []handler    `json:"handlers"`
	Conns       []connection `json:"conns"`
	Warnings    []warning    `json:"warnings"`
}

type worker struct {
	Worker  int     `json:"worker"`
	State   string  `json:"state"`
	Handler string  `json:"handler"`
	Peer    string  `json:"peer"`
	For     float64 `json:"ms"`
	Queued  int     `json:"queued"`
	Runs    uint64  `json:"runs"`
	Steals  uint64  `json:"steals"`
	Parks   uint64  `json:"parks"`
	Rescues uint64  `json:"rescues"`
	Mean    float64 `json:"meanUs"`
}

type handler struct {
	Handler string  `json:"handler"`
	Runs    uint64  `json:"runs"`
	Total   float64 `json:"totalMs"`
	Max     float64 `json:"maxMs"`
	Peer    string  `json:"peer"`
}

type connection struct {
	Peer     string `json:"peer"`
	Handler  string `json:"handler"`
	Received uint64 `json:"received"`
	Sent     uint64 `json:"sent"`
	Unsent   int    `json:"unsent"`
}

// The messages of follow.
type (
	arrived struct {
		*snapshot
		at time.Time
	}
	lost struct{ error }
)

// mostBytes bounds a snapshot: 1000 connections are some 200 KB.
const mostBytes = 64 << 20

// follow reads the stream until ctx ends, and dials anew a second after each end.
func follow(ctx context.Context, at string, send func(tea.Msg)) {
	for ctx.Err() == nil {
		err := read(ctx, at, send)
		if ctx.Err() != nil {
			return
		}
		send(lost{err})
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func read(ctx context.Context, at string, send func(tea.Msg)) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		reason, _ := io.ReadAll(io.LimitReader(answer.Body, 200))
		return fmt.Errorf("%s: %s", answer.Status, reason)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, mostBytes)
	for lines.Scan() {
		text, ok := cutData(lines.Bytes())
		if !ok {
			continue
		}
		s := new(snapshot)
		if err := json.Unmarshal(text, s); err != nil {
			return fmt.Errorf("this is not a console: %w", err)
		}
		send(arrived{s, time.Now()})
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.EOF
}

func cutData(line []byte) ([]byte, bool) {
	const prefix = "data:"
	if len(line) < len(prefix) || string(line[:len(prefix)]) != prefix {
		return nil, false
	}
	return line[len(prefix):], true
}

type warning struct {
	Time  time.Time `json:"time"`
	Level string    `json:"level"`
	Text  string    `json:"text"`
}

func (w *warning) line() string {
	return fmt.Sprintf("%s %-5s %s", w.Time.Format(time.TimeOnly), w.Level, w.Text)
}
