package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// ErrStuck is conn.ErrStuck.
var ErrStuck = errors.New("conn: a handler does not return")

// GiveUp is how long no connection may have ended until the remaining ones count as stuck. A wait
// for that counts its checks, not the time. Time passes also while the process is stopped (a
// stopped container, a suspended machine), when no handler can return. A ticker drops the ticks
// that were missed.
const (
	GiveUp    = time.Second
	lookEvery = GiveUp / 50
)

// Await waits for an error from ended until there was no progress for GiveUp; then over is false.
// progress says whether there was some since its last call.
func Await(ended <-chan error, progress func() bool) (err error, over bool) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for idle := time.Duration(0); idle < GiveUp; {
		select {
		case err := <-ended:
			return err, true
		case <-look.C:
		}
		if idle += lookEvery; progress() {
			idle = 0
		}
	}
	select {
	case err := <-ended: // with the last look
		return err, true
	default:
		return nil, false
	}
}

// StuckError names the connections and workers that have not ended. It matches ErrStuck, and why
// unless that is nil.
func (g *Group) StuckError(why error) error {
	var what []string
	switch n := g.Census.Len(); n {
	case 0:
	case 1:
		what = append(what, "1 connection has not ended")
	default:
		what = append(what, fmt.Sprintf("%d connections have not ended", n))
	}
	err := stuckIn(append(what, g.busy(func(int) bool { return true })...))
	if why != nil {
		err = fmt.Errorf("%w; %w", why, err)
	}
	return err
}

// StuckOn matches ErrStuck, and says in which task a worker is, if that is known.
func (g *Group) StuckOn(worker int) error {
	return stuckIn(g.busy(func(w int) bool { return w == worker }))
}

// busy says which of some workers have been in a task for long.
func (g *Group) busy(of func(worker int) bool) (what []string) {
	for _, b := range g.RT.Busy(GiveUp / 2) {
		if of(b.Worker) {
			what = append(what, inATask(b))
		}
	}
	return what
}

func inATask(b sched.Busy) string {
	return fmt.Sprintf("worker %d is in a task for %v", b.Worker, b.For.Round(time.Millisecond))
}

func stuckIn(what []string) error {
	if len(what) == 0 {
		return ErrStuck
	}
	return fmt.Errorf("%w: %s", ErrStuck, strings.Join(what, ", "))
}
