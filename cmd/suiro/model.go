package main

import (
	"cmp"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// A model is the view's state. Update and View are called by one goroutine.
type model struct {
	address       string
	width, height int
	now, before   *snapshot
	at, earlier   time.Time
	clock         time.Time // of the last tick
	err           error     // of the stream; nil: it is live
	sort          int       // of columns
	reversed      bool
	filter        string
	typing        bool // the filter is being typed
	scroll        int  // lines of the body above the screen
}

var _ tea.Model = (*model)(nil)

func newModel(address string) *model {
	return &model{address: address, width: 80, height: 24}
}

// silence is how long nothing may arrive from a console before the view says so.
const silence = 5 * time.Second

// A tick redraws the view: a process that is stopped sends nothing.
type tick time.Time

func nextTick() tea.Cmd {
	return tea.Tick(time.Second, func(now time.Time) tea.Msg { return tick(now) })
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return nextTick() }

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case arrived:
		m.before, m.earlier = m.now, m.at
		m.now, m.at, m.err = msg.snapshot, msg.at, nil
	case tick:
		m.clock = time.Time(msg)
		return m, nextTick()
	case lost:
		m.err = msg.error
	case tea.PasteMsg:
		if m.typing {
			m.filter += msg.Content
		}
	case tea.KeyPressMsg:
		if msg.String() == "ctrl+c" {
			return m, tea.Quit
		}
		if m.typing {
			m.typed(msg)
			return m, nil
		}
		return m.pressed(msg)
	}
	return m, nil
}

// typed changes the filter.
func (m *model) typed(key tea.KeyPressMsg) {
	switch key.Code {
	case tea.KeyEnter:
		m.typing = false
	case tea.KeyEscape:
		m.typing, m.filter = false, ""
	case tea.KeyBackspace:
		if all := []rune(m.filter); len(all) > 0 {
			m.filter = string(all[:len(all)-1])
		}
	default:
		m.filter += key.Text
	}
	m.scroll = 0
}

func (m *model) pressed(key tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	page := max(1, m.height-headLines-1)
	switch key.String() {
	case "q":
		return m, tea.Quit
	case "s":
		m.sort, m.scroll = (m.sort+1)%len(columns), 0
	case "S":
		m.reversed, m.scroll = !m.reversed, 0
	case "/":
		m.typing, m.scroll = true, 0
	case "esc":
		m.filter, m.scroll = "", 0
	case "up", "k":
		m.scroll--
	case "down", "j":
		m.scroll++
	case "pgup":
		m.scroll -= page
	case "pgdown":
		m.scroll += page
	case "home":
		m.scroll = 0
	case "end":
		m.scroll = 1 << 20 // View bounds it
	}
	m.scroll = min(max(0, m.scroll), max(0, len(m.body())-page))
	return m, nil
}

// A column is one by which connections are sorted, the largest first unless it is text.
type column struct {
	name    string
	compare func(a, b *connection) int
}

var columns = []column{
	{"received", func(a, b *connection) int { return cmp.Compare(b.Received, a.Received) }},
	{"sent", func(a, b *connection) int { return cmp.Compare(b.Sent, a.Sent) }},
	{"unsent", func(a, b *connection) int { return cmp.Compare(b.Unsent, a.Unsent) }},
	{"peer", func(a, b *connection) int { return strings.Compare(a.Peer, b.Peer) }},
	{"handler", func(a, b *connection) int { return strings.Compare(a.Handler, b.Handler) }},
}

func (m *model) shown(texts ...string) bool {
	if m.filter == "" {
		return true
	}
	return slices.ContainsFunc(texts, func(s string) bool {
		return strings.Contains(strings.ToLower(s), strings.ToLower(m.filter))
	})
}

// connections are those that the filter lets through, in order.
func (m *model) connections() []connection {
	var all []connection
	for _, c := range m.now.Conns {
		if m.shown(c.Peer, c.Handler) {
			all = append(all, c)
		}
	}
	by := columns[m.sort].compare
	slices.SortStableFunc(all, func(a, b connection) int {
		if m.reversed {
			return by(&b, &a)
		}
		return by(&a, &b)
	})
	return all
}
