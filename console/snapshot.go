package console

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A snapshot is what the page shows.
type snapshot struct {
	State       string          `json:"state"`
	Backend     string          `json:"backend"`
	Uptime      float64         `json:"uptime"` // seconds
	Connections int             `json:"connections"`
	Buffered    int             `json:"buffered"`
	Goroutines  int             `json:"goroutines"`
	Errors      uint64          `json:"handlerErrors"`
	Panics      uint64          `json:"handlerPanics"`
	Tasks       int             `json:"tasks"`
	Timers      int             `json:"timers"`
	NextTimer   float64         `json:"nextTimer"` // milliseconds; below 0: none
	Global      int             `json:"globalQueue"`
	Long        int             `json:"longTasks"`
	Exhausted   uint64          `json:"exhausted"`
	Listeners   []string        `json:"listeners"`
	Workers     []workerRow     `json:"workers"`
	Handlers    []handlerRow    `json:"handlers"`
	Conns       []connectionRow `json:"conns"`
	Pools       []poolRow       `json:"pools"`
	Warnings    []warning       `json:"warnings"`
	Events      bool            `json:"events"`
	Recorder    bool            `json:"recorder"`
}

type workerRow struct {
	Worker  int     `json:"worker"`
	State   string  `json:"state"`
	Handler string  `json:"handler"`
	Peer    string  `json:"peer"`
	For     float64 `json:"ms"`
	Queued  int     `json:"queued"`
	Polled  uint64  `json:"runs"`
	Steals  uint64  `json:"steals"`
	Parks   uint64  `json:"parks"`
	Rescues uint64  `json:"rescues"`
	Mean    float64 `json:"meanUs"`
}

type handlerRow struct {
	Handler string  `json:"handler"`
	Runs    uint64  `json:"runs"`
	Total   float64 `json:"totalMs"`
	Max     float64 `json:"maxMs"`
	Peer    string  `json:"peer"`
	Stack   string  `json:"stack"`
}

type connectionRow struct {
	ID       string `json:"id"` // a number that JavaScript's do not hold
	Peer     string `json:"peer"`
	Handler  string `json:"handler"`
	Received uint64 `json:"received"`
	Sent     uint64 `json:"sent"`
	Unsent   int    `json:"unsent"`
	Spliced  bool   `json:"spliced"`
}

type poolRow struct {
	Name    string `json:"name"`
	Threads int    `json:"threads"`
	Idle    int    `json:"idle"`
	Pending int    `json:"pending"`
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func valid(text string) string { return strings.ToValidUTF8(text, "�") }

func (c *console) snapshot() *snapshot {
	s := &snapshot{State: "does not serve yet", Goroutines: runtime.NumGoroutine(), Warnings: c.cfg.Warnings.list(), NextTimer: -1}
	s.Recorder = c.cfg.Recorder != nil // in Go 1.26, Enabled races with Start and Stop
	for name, p := range c.cfg.Pools {
		s.Pools = append(s.Pools, poolRow{name, p.ThreadCount(), p.IdleCount(), p.Pending()})
	}
	slices.SortFunc(s.Pools, func(a, b poolRow) int { return strings.Compare(a.Name, b.Name) })
	from, current := c.ask()
	for _, a := range from.addrs {
		s.Listeners = append(s.Listeners, valid(a.Network()+" "+a.String()))
	}
	g := from.group
	switch {
	case !current:
		s.State = "does not answer: somebody holds its lock"
	case g != nil && from.stopping:
		s.State = "stops"
	case g != nil:
		s.State = "serves"
	}
	if g == nil {
		return s
	}
	rt, stats, counts := g.Runtime(), g.Runtime().Stats(), g.Stats()
	s.Backend, s.Uptime, s.Connections, s.Buffered = g.Backend(), rt.Now().Seconds(), g.Len(), g.Buffered()
	s.Errors, s.Panics, s.Tasks = counts.HandlerErrors, counts.HandlerPanics, rt.Tasks()
	s.Global, s.Long, s.Exhausted = stats.GlobalQueued, stats.LongQueued, stats.Exhausted
	n, next := rt.PendingTimers()
	if s.Timers = n; n > 0 {
		s.NextTimer = ms(next)
	}
	s.Events = len(stats.Workers) > 0 && rt.RecordsEvents()
	for _, w := range rt.WorkerStates() {
		row := workerRow{Worker: w.Worker, State: "looks for work", Handler: valid(w.Handler), Peer: valid(w.Peer), For: ms(w.For), Queued: w.Queued}
		switch {
		case w.Ended:
			row.State = "has ended"
		case w.Runs:
			row.State = "runs"
		case w.Parked:
			row.State = "parked"
		}
		if w.Spare {
			row.State = "spare, " + row.State
		}
		if w.Worker < len(stats.Workers) {
			of := &stats.Workers[w.Worker]
			row.Polled, row.Steals, row.Parks, row.Rescues, row.Mean = of.Polled, of.Steals, of.Parks, of.Rescues, float64(of.MeanPoll)/1000
		}
		s.Workers = append(s.Workers, row)
	}
	for _, h := range rt.SlowHandlers() {
		s.Handlers = append(s.Handlers, handlerRow{valid(h.Handler), h.Runs, ms(h.Total), ms(h.Max), valid(h.Peer), valid(h.Stack)})
	}
	for o := range g.Connections() {
		if len(s.Conns) == c.cfg.MaxConns {
			break
		}
		peer := ""
		if o.RemoteAddr != nil {
			peer = valid(o.RemoteAddr.String())
		}
		s.Conns = append(s.Conns, connectionRow{strconv.FormatUint(o.Handle.ID(), 10), peer, valid(o.Handler), o.Received, o.Sent, o.Unsent,
			o.Spliced.ID() != 0})
	}
	return s
}
