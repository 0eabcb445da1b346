package core

import (
	"context"
	"log/slog"
	"time"

	"github.com/suiro-go/suiro/internal/placement"
	"github.com/suiro-go/suiro/reactor"
)

// A Config is what package conn's Config says, with all defaults.
type Config struct {
	Reactor             reactor.Config
	HighWater, LowWater int
	MaxWrite            int
	MaxWriteTotal       int
	MaxRead             int
	MaxMemory           int // 0: not bounded
	MaxConns            int
	Waits               bool // at MaxConns: Overflow
	MaxPerSource        int
	MaxPipes            int
	Placement           placement.Policy
	ConnectTimeout      time.Duration
	IdleTimeout         time.Duration
	WriteTimeout        time.Duration
	LingerTimeout       time.Duration
	BaseContext         context.Context
	ConnContext         func(context.Context, Handle) context.Context // or nil
	Logger              *slog.Logger
}
