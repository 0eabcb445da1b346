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

	mu     sync.Mutex // guards the fields below
	inARow int        // failures
	until  time.Time
	down   bool
	why    error
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
	h.why = err
	if h.inARow >= orInt(h.rule.Fails, 3) {
		h.down, h.until = true, time.Now().Add(h.rule.Eject.Or(10*time.Second))
	}
}

// passed notes that a health check was answered.
func (h *health) passed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inARow, h.down = 0, false
}

// follow takes over what another health knows of the address. nil: it knows nothing.
func (h *health) follow(old *health) {
	if old == nil || old == h {
		return
	}
	old.mu.Lock()
	inARow, until, down, why := old.inARow, old.until, old.down, old.why
	old.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inARow, h.until, h.down, h.why = inARow, until, down, why
}
