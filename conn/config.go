package conn

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/placement"
	"github.com/suiro-go/suiro/reactor"
)

// A Config describes a Group and the connections in it. Zero means default.
type Config struct {
	// Reactor configures each worker's reactor. Reactor.Backend and Reactor.Coalesce are the only
	// places for these two settings. Without a Backend, the environment variable SUIRO_BACKEND
	// counts.
	Reactor reactor.Config

	// HighWater and LowWater bound how many written bytes of a connection the kernel has not taken.
	// Above HighWater its OnData is not called and nothing is received, until LowWater is reached.
	// 0: 256 KiB, and a quarter of HighWater.
	HighWater, LowWater int

	// MaxWrite is the most a connection may have queued, in bytes. A write
	// that finds the queue at or above it takes nothing and returns
	// ErrWriteQueueFull. 0: 4 MiB, or HighWater if that is more.
	MaxWrite int

	// MaxWriteTotal bounds what all connections together have queued above HighWater,
	// in bytes. While it is reached, a write that finds the connection's queue at or above
	// HighWater returns ErrWriteQueueFull too; a connection below HighWater may always
	// write. A single run of a handler may overshoot it by MaxWrite. 0: 256 MiB.
	MaxWriteTotal int

	// MaxRead bounds the bytes that a handler may leave unread. With that many or more, OnData is
	// called again before anything is added. A handler that then reads nothing waits for bytes that
	// cannot arrive: its connection ends with ErrReadBufferFull. 0: 1 MiB.
	MaxRead int

	// MaxMemory bounds the bytes that all connections together have buffered: those written and not
	// sent, and those received and kept. They are kept for a handler, for a Socket's goroutines or
	// for a TLS handshake. Above three quarters of it nothing is accepted, no handshake begins and
	// no OnData is called, until peers or goroutines have taken some. At the bound, the connection
	// with the most is reset with ErrShed. Bytes that goroutines and handshakes hold reset nobody.
	// A single run of a handler may exceed the bound by its writes or reads. Each connection is
	// then read by a system call of its own, so that nothing is taken from the kernel without need.
	// Spliced connections are not, and none on Windows. 0: no bound.
	//
	// With MaxMemory, WriteTimeout is 30 s unless it is set, so that peers that take nothing do not
	// hold up the others for ever. The pools of buffers keep an eighth of the bound beside it. They
	// keep another eighth, or as much as is buffered if that is more.
	MaxMemory int

	// MaxConns bounds the accepted connections there are at a time; what becomes
	// of the next, Overflow says. 0: as many as there are descriptors for.
	MaxConns int
	Overflow Overflow

	// MaxPerSource bounds the connections of one IP address; the next one is reset. Behind a proxy
	// all come from one address. 0: no limit.
	MaxPerSource int

	// MaxPipes bounds the pipes that the kernel moves spliced bytes through, a pair of
	// descriptors each; see Splice. Beyond it they are copied. 0: 128; -1: none.
	MaxPipes int

	// Placement says on which worker a new connection begins.
	Placement Placement

	// ConnectTimeout bounds the establishment of a dialed connection. 0: the system's limit, some
	// two minutes.
	ConnectTimeout time.Duration

	// IdleTimeout closes a connection after this long without received or acknowledged bytes, with
	// os.ErrDeadlineExceeded. 0: never. Conn.SetIdleTimeout changes it for one connection.
	// A peer is not idle while its bytes wait because reading is paused. A connection of a splice
	// is not idle while the other one's peer takes bytes. An idle splice resets both.
	IdleTimeout time.Duration

	// WriteTimeout resets a connection after its peer has taken none of the written bytes for so
	// long, with os.ErrDeadlineExceeded. There is no lower bound of the rate: on Linux an
	// acknowledged byte is enough. 0: never.
	WriteTimeout time.Duration

	// LingerTimeout is how long Close waits for each step of the peer. If the peer takes none of
	// the output for so long, the connection is reset. If it does not end its side for so long,
	// ours is closed alone. A peer that sends more than 2 MiB meanwhile is reset. 0: 5 s. A
	// connection that was told by OnDrain looks every 100 ms, and does not wait for a peer that has
	// acknowledged everything and sends nothing.
	LingerTimeout time.Duration

	// BaseContext is the parent of the contexts of connections (see Conn.Context): they inherit its
	// values and end with it. Its end does not end the connections. nil: context.Background().
	BaseContext context.Context

	// ConnContext, if not nil, returns the parent of the context of one connection. ctx is
	// BaseContext. It is called on the goroutine that first asks for the context of the
	// connection, and again if the connection is over. It must not block.
	ConnContext func(ctx context.Context, h Handle) context.Context

	// Logger gets panics in handlers, accept errors, and a fall-back to another backend. At debug
	// level it also gets the errors that handlers return. It is the runtime's logger too. nil:
	// nothing is logged.
	Logger *slog.Logger
}

// An Overflow says how a listener treats a new connection while Config.MaxConns are open.
type Overflow uint8

const (
	// OverflowReset accepts the connection and resets it: the client knows at once.
	OverflowReset Overflow = iota
	// OverflowWait leaves the connection in the kernel's backlog of the listener until another one
	// ends. The client sees an established connection. Each listener accepts one connection at a
	// time then. So the accepted connections take at most MaxConns descriptors, and one more for
	// each listener (on Windows, up to 8 for each).
	OverflowWait
)

// A Placement says on which worker a new connection begins. It then receives through the reactor of
// that worker. Its handler may run on any worker.
type Placement uint8

const (
	// RoundRobin takes the workers in turn.
	RoundRobin = Placement(placement.RoundRobin)
	// LeastConnections takes the worker on which the fewest live ones began.
	LeastConnections = Placement(placement.LeastConnections)
	// SourceHash takes the same worker for the same peer's address, with any port.
	SourceHash = Placement(placement.SourceHash)
)

func (cfg Config) withDefaults() (Config, error) {
	cfg.HighWater = cmp.Or(cfg.HighWater, 256<<10)
	cfg.LowWater = cmp.Or(cfg.LowWater, cfg.HighWater/4)
	cfg.MaxWrite = cmp.Or(cfg.MaxWrite, max(4<<20, cfg.HighWater))
	cfg.MaxWriteTotal = cmp.Or(cfg.MaxWriteTotal, 256<<20)
	cfg.MaxRead = cmp.Or(cfg.MaxRead, 1<<20)
	cfg.LingerTimeout = cmp.Or(cfg.LingerTimeout, 5*time.Second)
	cfg.MaxPipes = cmp.Or(cfg.MaxPipes, 128)
	if cfg.MaxMemory > 0 {
		cfg.WriteTimeout = cmp.Or(cfg.WriteTimeout, 30*time.Second)
	}
	if cfg.BaseContext == nil {
		cfg.BaseContext = context.Background()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case cfg.LowWater < 0 || cfg.HighWater < 1 || cfg.LowWater > cfg.HighWater:
		return cfg, fmt.Errorf("conn: LowWater is %d and HighWater %d; use 0 < LowWater <= HighWater", cfg.LowWater, cfg.HighWater)
	case cfg.MaxWrite < cfg.HighWater:
		return cfg, fmt.Errorf("conn: MaxWrite is %d; use at least HighWater, %d", cfg.MaxWrite, cfg.HighWater)
	case cfg.MaxWriteTotal < 0:
		return cfg, fmt.Errorf("conn: MaxWriteTotal is %d; use 0 for 256 MiB, or more", cfg.MaxWriteTotal)
	case cfg.MaxRead < 1:
		return cfg, fmt.Errorf("conn: MaxRead is %d; use at least 1", cfg.MaxRead)
	}
	if cfg.MaxMemory < 0 || cfg.MaxMemory > 0 && cfg.MaxMemory < 2*cfg.HighWater {
		return cfg, fmt.Errorf("conn: MaxMemory is %d; use at least twice HighWater, %d, or 0 for no bound", cfg.MaxMemory, 2*cfg.HighWater)
	}
	if cfg.MaxConns < 0 || cfg.MaxPerSource < 0 {
		return cfg, fmt.Errorf("conn: MaxConns is %d and MaxPerSource %d; use 0 for no limit, or more", cfg.MaxConns, cfg.MaxPerSource)
	}
	if cfg.MaxPipes < -1 {
		return cfg, fmt.Errorf("conn: MaxPipes is %d; use -1 for none, 0 for the default, or more", cfg.MaxPipes)
	}
	if cfg.Overflow > OverflowWait || cfg.Placement > SourceHash {
		return cfg, fmt.Errorf("conn: Overflow is %d and Placement %d; use the constants of package conn", cfg.Overflow, cfg.Placement)
	}
	for name, d := range map[string]time.Duration{"LingerTimeout": cfg.LingerTimeout, "ConnectTimeout": cfg.ConnectTimeout,
		"IdleTimeout": cfg.IdleTimeout, "WriteTimeout": cfg.WriteTimeout} {
		if d < 0 {
			return cfg, fmt.Errorf("conn: %s is %v; use a positive duration, or 0 for the default", name, d)
		}
	}
	return cfg, nil
}

// settings are those of the core, for a configuration with all defaults.
func (cfg *Config) settings() core.Config {
	s := core.Config{
		Reactor:   cfg.Reactor,
		HighWater: cfg.HighWater, LowWater: cfg.LowWater, MaxWrite: cfg.MaxWrite, MaxWriteTotal: cfg.MaxWriteTotal,
		MaxRead: cfg.MaxRead, MaxMemory: cfg.MaxMemory, MaxConns: cfg.MaxConns, Waits: cfg.Overflow == OverflowWait,
		MaxPerSource: cfg.MaxPerSource, MaxPipes: cfg.MaxPipes, Placement: placement.Policy(cfg.Placement),
		ConnectTimeout: cfg.ConnectTimeout, IdleTimeout: cfg.IdleTimeout, WriteTimeout: cfg.WriteTimeout, LingerTimeout: cfg.LingerTimeout,
		BaseContext: cfg.BaseContext, Logger: cfg.Logger,
	}
	if with := cfg.ConnContext; with != nil {
		s.ConnContext = func(ctx context.Context, h core.Handle) context.Context { return with(ctx, Handle{h}) }
	}
	return s
}
