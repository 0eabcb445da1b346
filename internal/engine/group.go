package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

var (
	// ErrWriteQueueFull is conn.ErrWriteQueueFull.
	ErrWriteQueueFull = errors.New("conn: write queue full")

	// ErrTooManyCalls is conn.ErrTooManyCalls.
	ErrTooManyCalls = errors.New("conn: too many functions wait to be called by Do; call it less often")

	// ErrAborted is why what was aborted has ended.
	ErrAborted = fmt.Errorf("conn: aborted: %w", net.ErrClosed)

	// ErrGone is what a handle says whose target has ended.
	ErrGone = fmt.Errorf("conn: the connection has ended: %w", net.ErrClosed)
)

// MaxPendingCalls is how many functions of a handle's Do may wait to be called.
const MaxPendingCalls = 1 << 10

// A Config is what all targets of a group have in common; conn.Config says what each means.
type Config struct {
	Reactor           reactor.Config
	MaxWrite, MaxRead int
	Linger            time.Duration
	Logger            *slog.Logger
	Virtual           bool // the runtime's clock is
}

// A Group is the workers of one runtime and the targets attached to their reactors. Its
// methods may be called from any goroutine.
type Group struct {
	Config
	RT     *sched.Runtime
	Table  Table
	Census Census // those whose OnClose has not returned

	Inert   sock.Inert               // for those whose worker is stuck; there while a driver is
	Drivers []atomic.Pointer[Driver] // by worker; nil before it starts

	next   atomic.Uint32 // the worker that gets the next target
	stage  atomic.Int32  // of the end: drainNobody and so on
	errors atomic.Uint64 // of handlers
	panics atomic.Uint64
}

// NextWorker spreads what is new over the workers.
func (g *Group) NextWorker() int { return int(g.next.Add(1) % uint32(g.RT.Workers())) }

// Wait waits until no target is left that a Census counts, or until ctx ends, and then returns
// its error; sched.ErrClosed if the workers have stopped, which end them.
func (g *Group) Wait(ctx context.Context) error { return g.Census.Wait(ctx, g.RT.Done(), Everybody) }
