package upstream

import (
	"sync"
	"time"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
)

// A health says whether an address is left alone. Routes with the same address and the same
// settings share it. The zero value is well, with the default settings.
type health struct {
	rule  config.Health
	asked bool // health checks ask it: only an answer ends its absence

	mu sync.Mutex // guards known
	known
}

// A known is what a health knows of its address. Health checks are counted apart: an upstream that
// fails them all may still take connections.
type known struct {
	inARow   int // failures of connections and requests
	unpassed int // health checks in a row that have failed
	until    time.Time
	down     bool
	why      error
}

func (h *health) state() (healthy bool, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	healthy = h.wellAt(time.Now())
	if !healthy && h.why != nil {
		why = h.why.Error()
	}
	return healthy, why
}

func (h *health) well(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wellAt(now)
}

func (h *health) wellAt(now time.Time) bool {
	return !h.down || !h.asked && !now.Before(h.until)
}

func (h *health) isDown() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.down
}

func (h *health) succeeded() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inARow = 0
	if !h.asked {
		h.down = false
	}
}

func (h *health) failed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inARow++
	h.judge(h.inARow, err)
}

// judge notes a failure, which ends a row of so many.
func (h *health) judge(row int, err error) {
	h.why = err
	if row >= orInt(h.rule.Fails, 3) {
		h.down, h.until = true, time.Now().Add(h.rule.Eject.Or(10*time.Second))
	}
}

// checked notes the result of a health check. A check that passes ends every absence.
func (h *health) checked(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.inARow, h.unpassed, h.down = 0, 0, false
		return
	}
	h.unpassed++
	h.judge(h.unpassed, err)
}

// follow takes over what another health knows of the address. nil: it knows nothing.
func (h *health) follow(old *health) {
	if old == nil || old == h {
		return
	}
	old.mu.Lock()
	known := old.known
	old.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known = known
}
