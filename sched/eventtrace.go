package sched

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// WriteTrace writes events as JSON that Perfetto (ui.perfetto.dev) and Chrome's about:tracing draw:
// the Trace Event Format. Each worker is a line, and each run of a task a bar. name, if not nil,
// names a task by its Task.EventID; "" has the number instead. events must be in the order of their
// times, as Runtime.Events returns them. The error is that of w.
func WriteTrace(w io.Writer, events []Event, name func(task uint64) string) error {
	out := traceWriter{out: bufio.NewWriter(w), name: name, begun: make(map[int]Event)}
	out.write(events)
	_, _ = io.WriteString(out.out, "]}\n")
	return out.out.Flush()
}

type traceWriter struct {
	out   *bufio.Writer
	name  func(task uint64) string
	begun map[int]Event // runs and parks that have not ended, by worker
	any   bool
}

// A traceEvent is an event of the Trace Event Format. Times are microseconds.
type traceEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	Time     float64        `json:"ts"`
	Duration *float64       `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Scope    string         `json:"s,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

func (t *traceWriter) write(events []Event) {
	_, _ = io.WriteString(t.out, `{"displayTimeUnit":"ns","traceEvents":[`)
	workers := make(map[int]bool)
	for _, e := range events {
		if !workers[e.Worker] {
			workers[e.Worker] = true
			t.put(traceEvent{Name: "thread_name", Phase: "M", Process: 1, Thread: e.Worker, Args: map[string]any{"name": fmt.Sprint("worker ", e.Worker)}})
		}
		switch e.Kind {
		case EventRun, EventPark:
			t.begun[e.Worker] = e
		case EventRunEnd, EventUnpark:
			if begun, ok := t.begun[e.Worker]; ok && begun.Task == e.Task && begun.Kind == e.Kind-1 {
				t.bar(begun, e.At)
			}
			delete(t.begun, e.Worker)
		default:
			t.put(traceEvent{Name: t.nameOf(e), Category: e.Kind.String(), Phase: "i", Scope: "t", Time: micros(e.At), Process: 1, Thread: e.Worker, Args: argsOf(e)})
		}
	}
	if len(events) == 0 {
		return
	}
	end := events[len(events)-1].At
	for _, begun := range t.begun {
		t.bar(begun, end)
	}
}

// bar is a run or a park.
func (t *traceWriter) bar(begun Event, end time.Duration) {
	d := micros(end - begun.At)
	t.put(traceEvent{Name: t.nameOf(begun), Category: begun.Kind.String(), Phase: "X", Time: micros(begun.At), Duration: &d, Process: 1, Thread: begun.Worker, Args: argsOf(begun)})
}

func (t *traceWriter) nameOf(e Event) string {
	if e.Kind != EventRun {
		return e.Kind.String()
	}
	if t.name != nil {
		if name := t.name(e.Task); name != "" {
			return name
		}
	}
	return fmt.Sprintf("task %#x", e.Task)
}

func argsOf(e Event) map[string]any {
	args := map[string]any{}
	if e.Task != 0 {
		args["task"] = fmt.Sprintf("%#x", e.Task)
	}
	if e.N != 0 {
		args["n"] = e.N
	}
	return args
}

func (t *traceWriter) put(e traceEvent) {
	if t.any {
		_ = t.out.WriteByte(',')
	}
	t.any = true
	text, _ := json.Marshal(e) // of strings and finite numbers
	_, _ = t.out.Write(text)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
