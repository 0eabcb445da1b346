package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"syscall"
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

	// ErrWouldBlock is conn.ErrWouldBlock and packet.ErrWouldBlock.
	ErrWouldBlock = fmt.Errorf("conn: the call would have to wait: %w", syscall.EAGAIN)

	// ErrAborted is the error with which aborted connections end.
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
	Origins Origins                  // of connections and packet sockets

	next   atomic.Uint32 // the worker that gets the next target
	stage  atomic.Int32  // of the end: drainNobody and so on
	errors atomic.Uint64 // of handlers
	panics atomic.Uint64
}

// Start starts the group's workers, unless they run. Errors are those of GroupError.
func (g *Group) Start() error { return GroupError(g.RT.Start()) }

// GroupError is an error of a group. One of workers that have stopped matches net.ErrClosed too.
func GroupError(err error) error {
	if err == sched.ErrClosed {
		return fmt.Errorf("the group is closed: %w: %w", net.ErrClosed, err)
	}
	return err
}

// Origin is the origin of a socket's address. Origins.Unuse follows when the socket is closed.
func (g *Group) Origin(kind OriginKind, addr net.Addr) *Origin {
	return g.Origins.Use(KeyOf(kind, addr), max(1, g.RT.Workers()+g.RT.Spares()))
}

// DialOrigin is the origin of all dialed connections or sockets.
func (g *Group) DialOrigin(kind OriginKind) *Origin {
	return g.Origins.Use(OriginKey{Kind: kind}, max(1, g.RT.Workers()+g.RT.Spares()))
}

// Exhausted is the number of receives that have found no free buffer.
func (g *Group) Exhausted() (n uint64) {
	for i := range g.Drivers {
		if d := g.Drivers[i].Load(); d != nil {
			n += d.Exhausted.Load()
		}
	}
	return n
}

// NextWorker spreads new endpoints over the workers.
func (g *Group) NextWorker() int { return int(g.next.Add(1) % uint32(g.RT.Workers())) }

// Wait waits until no target is left that a Census counts, or until ctx ends, and then returns
// its error; sched.ErrClosed if the workers have stopped, which end them.
func (g *Group) Wait(ctx context.Context) error { return g.Census.Wait(ctx, g.RT.Done(), Everybody) }
