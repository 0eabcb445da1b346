package main

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// headLines are always on the screen.
const headLines = 4

// View implements tea.Model.
func (m *model) View() tea.View {
	v := tea.NewView(m.text())
	v.AltScreen = true
	return v
}

func (m *model) text() string {
	lines := m.head()
	body := m.body()
	room := max(0, m.height-len(lines)-1)
	from := min(m.scroll, max(0, len(body)-room))
	lines = append(lines, body[from:min(len(body), from+room)]...)
	lines = append(lines, m.foot())
	for i := range lines {
		lines[i] = m.cut(lines[i])
	}
	return strings.Join(lines, "\n")
}

func (m *model) head() []string {
	switch {
	case m.now == nil && m.err != nil:
		return []string{"suiro top " + m.address, "cannot be reached: " + m.err.Error(), "", ""}
	case m.now == nil:
		return []string{"suiro top " + m.address, "connecting", "", ""}
	}
	s, state := m.now, m.now.State
	if quiet := m.clock.Sub(m.at); m.err == nil && quiet > silence {
		state = fmt.Sprintf("SILENT FOR %s (was: %s)", quiet.Round(time.Second), state)
	}
	if m.err != nil {
		state = fmt.Sprintf("LOST %s AGO: %v", time.Since(m.at).Round(time.Second), m.err)
	}
	up := time.Duration(s.Uptime * float64(time.Second)).Round(time.Second)
	return []string{
		fmt.Sprintf("suiro top %s   %s   %s for %v   %s", m.address, s.Backend, state, up, strings.Join(s.Listeners, " ")),
		fmt.Sprintf("connections %d   tasks %d   timers %d   global queue %d   runs/s %s", s.Connections, s.Tasks, s.Timers, s.Global, m.rate()),
		fmt.Sprintf("goroutines %d   buffered %s   handler errors %d   panics %d", s.Goroutines, size(float64(s.Buffered)), s.Errors, s.Panics),
		"",
	}
}

// rate is the number of runs a second between the last two snapshots.
func (m *model) rate() string {
	if m.before == nil || !m.at.After(m.earlier) {
		return "-"
	}
	total := func(s *snapshot) (n float64) {
		for _, w := range s.Workers {
			n += float64(w.Runs)
		}
		return n
	}
	return fmt.Sprintf("%.0f", max(0, total(m.now)-total(m.before))/m.at.Sub(m.earlier).Seconds())
}

// body is all that scrolls.
func (m *model) body() []string {
	if m.now == nil {
		return nil
	}
	lines := []string{fmt.Sprintf("%-7s %-22s %9s %7s %12s %8s %8s %8s %8s  %s", "WORKER", "STATE", "FOR", "QUEUED", "RUNS", "STEALS", "PARKS", "RESCUES", "MEAN", "HANDLER")}
	for _, w := range m.now.Workers {
		running := ""
		if w.State == "runs" || strings.HasSuffix(w.State, ", runs") {
			running = millis(w.For)
		}
		lines = append(lines, fmt.Sprintf("%-7d %-22s %9s %7d %12d %8d %8d %8d %7.1fµ  %s", w.Worker, w.State, running, w.Queued, w.Runs, w.Steals, w.Parks, w.Rescues, w.Mean, strings.TrimSpace(w.Handler+" "+w.Peer)))
	}
	lines = append(lines, "")
	if len(m.now.Handlers) > 0 {
		lines = append(lines, fmt.Sprintf("%8s %10s %10s  %s", "SLOW", "TOTAL", "LONGEST", "HANDLER AND ITS PEER THEN"))
		for _, h := range m.now.Handlers {
			if m.shown(h.Handler, h.Peer) {
				lines = append(lines, fmt.Sprintf("%8d %10s %10s  %s", h.Runs, millis(h.Total), millis(h.Max), strings.TrimSpace(h.Handler+" "+h.Peer)))
			}
		}
		lines = append(lines, "")
	}
	lines = append(lines, fmt.Sprintf("%10s %10s %10s  %-24s %s", "RECEIVED", "SENT", "UNSENT", "PEER", "HANDLER"))
	all := m.connections()
	for i := range all {
		c := &all[i]
		lines = append(lines, fmt.Sprintf("%10s %10s %10s  %-24s %s", size(float64(c.Received)), size(float64(c.Sent)), size(float64(c.Unsent)), c.Peer, c.Handler))
	}
	if more := m.now.Connections - len(m.now.Conns); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	if len(m.now.Warnings) > 0 {
		lines = append(lines, "", "WARNINGS")
		for _, w := range m.now.Warnings {
			lines = append(lines, w.line())
		}
	}
	return lines
}

func (m *model) foot() string {
	if m.typing {
		return "/" + m.filter + "_"
	}
	way := ""
	if m.reversed {
		way = ", reversed"
	}
	text := "sorted by " + columns[m.sort].name + way
	if m.filter != "" {
		text += "   only " + m.filter
	}
	return text + "   s S sort   / filter   ↑ ↓ scroll   q quit"
}

// cut makes a line fit, and removes what a terminal would obey: peers may have sent it.
func (m *model) cut(line string) string {
	clean := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, line))
	return string(clean[:min(len(clean), max(0, m.width))])
}

func millis(ms float64) string {
	return time.Duration(ms * float64(time.Millisecond)).Round(100 * time.Microsecond).String()
}

// size is a number of bytes for people.
func size(n float64) string {
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if n < 1024 {
			if unit == "B" {
				return fmt.Sprintf("%.0f B", n)
			}
			return fmt.Sprintf("%.1f %s", n, unit)
		}
		n /= 1024
	}
	return fmt.Sprintf("%.1f TiB", n)
}
