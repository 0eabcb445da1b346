package reactor

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/suiro-go/suiro/internal/faults"
)

// EnvBackend is the environment variable that forces a backend where the
// configuration does not.
const EnvBackend = "SUIRO_BACKEND"

// A Config describes one reactor. The zero value is what a server wants.
type Config struct {
	// Backend forces one: "io_uring" or "epoll" on Linux, "kqueue" on macOS and the
	// BSDs, "iocp" on Windows. Empty: the value of SUIRO_BACKEND, else the best one that starts.
	Backend string

	// Entries is the length of io_uring's submission queue, rounded up to a
	// power of two. 0: 1024. The queue is flushed when full, so this bounds
	// batches, not operations in flight.
	Entries int

	// Buffers and BufferSize shape the receive memory: Buffers pieces (a
	// power of two, at most 32768) of BufferSize bytes each, mapped off the
	// heap and touched as they are used. A piece is filled by several
	// receives where the backend can do that (all; io_uring since Linux
	// 6.12), else by one. 0: 32 and 64 KiB.
	Buffers, BufferSize int

	// Datagrams and DatagramSize shape the receive memory of datagrams, which a
	// reactor maps with its first RecvFrom: Datagrams pieces (a power of two, at
	// most 32768), each for one datagram of up to DatagramSize bytes, touched as far
	// as they are used. Of a longer one the rest is lost, and Packet.Truncated
	// says so. 0: 256, and 65535, which none exceeds.
	Datagrams, DatagramSize int

	// Unlocked says that the owner is a goroutine that is not locked to its thread:
	// Poll then waits in Go's own poller, as the goroutines do that it wakes, or as an
	// ordinary system call (kqueue, iocp). io_uring cannot do that; with it, Backend "" means epoll
	// on Linux.
	Unlocked bool

	// Coalesce is for how long Poll, if there is nothing yet, lets what comes gather, as long as it is three completions
	// or more: fewer wake-ups, which cost more than what they tell of, for so much latency, to which the kernel
	// adds some 50 µs (more without high-resolution timers). When less has come, 8 waits do without, then 16 and so on
	// to 1,024, so who talks alone is seldom delayed. A Wake is heard at once. Nothing is received meanwhile: a
	// socket's own buffer has to hold so much. 0: not at all; at most a millisecond. It is for epoll, which Backend ""
	// with SUIRO_BACKEND unset then means on Linux; with another backend, and with Unlocked, it does nothing:
	// io_uring's completions wake a thread whatever it waits for.
	Coalesce time.Duration

	// Without turns features of a backend off, as if the kernel lacked them:
	// see the Feature constants. For tests and for kernels with a broken one.
	Without []Feature

	// OnShortage, if not nil, is called when the kernel has refused to take operations for want of memory
	// (ENOMEM or ENOBUFS of io_uring_enter), with the error and the time after which the reactor tries again:
	// 1 ms, doubled up to 16 ms as long as that lasts. Nothing is lost by it. The owner calls it, within
	// Poll or Submit, so it must be quick and must not call the reactor.
	OnShortage func(err error, pause time.Duration)

	// OnLoss, if not nil, is called when the kernel has dropped completions for want of memory
	// (io_uring). ended is how many operations end because of that: see Reactor.Poll. The owner
	// calls it within Poll, so it must be quick and must not call the reactor.
	OnLoss func(dropped, ended int)

	// Faults is for this module's tests: system calls fail as it says. nil: none do.
	Faults *faults.Plan

	selected bool // every field is settled and the backend has been probed
}

const maxCoalesce = time.Millisecond

// A Feature is a part of io_uring or kqueue that the backend can do without.
type Feature string

// FeatureUserWake is kqueue's EVFILT_USER, which OpenBSD and NetBSD before 10 lack; else
// a pipe.
const FeatureUserWake Feature = "user-wake"

// The features of io_uring, each with the Linux version that brought it.
const (
	FeatureMultishotAccept Feature = "multishot-accept" // 5.19; else accept is re-armed each time
	FeatureMultishotRecv   Feature = "multishot-recv"   // 6.0; else receive is re-armed each time
	FeatureIncremental     Feature = "incremental"      // 6.12: one buffer takes several receives
	FeatureCoopTaskrun     Feature = "coop-taskrun"     // 5.19: no interrupt for a completion
	FeatureSkipSuccess     Feature = "skip-success"     // 5.17: no completion for a cancel that found its target
)

// Backends lists the names Config.Backend takes on this platform, best first.
func Backends() []string {
	names := make([]string, len(backends))
	for i, b := range backends {
		names[i] = b.name
	}
	return names
}

type backend struct {
	name  string
	probe func(cfg *Config) error // can it start? why not, and what to do
	open  func(cfg *Config) (Reactor, error)

	unlocked  bool // can do Config.Unlocked
	coalesces bool // and Config.Coalesce
}

func (cfg Config) withDefaults() (Config, error) {
	cfg.Entries = cmp.Or(cfg.Entries, 1024)
	cfg.Buffers = cmp.Or(cfg.Buffers, 32)
	cfg.BufferSize = cmp.Or(cfg.BufferSize, 64<<10)
	cfg.Datagrams = cmp.Or(cfg.Datagrams, 256)
	cfg.DatagramSize = cmp.Or(cfg.DatagramSize, 65535)
	cfg.Backend = cmp.Or(cfg.Backend, os.Getenv(EnvBackend))
	suits := func(b backend) bool {
		return cfg.Unlocked && b.unlocked || !cfg.Unlocked && cfg.Coalesce > 0 && b.coalesces
	}
	if i := slices.IndexFunc(backends, suits); i >= 0 {
		cfg.Backend = cmp.Or(cfg.Backend, backends[i].name)
	}
	switch {
	case cfg.Unlocked && slices.ContainsFunc(backends, func(b backend) bool { return b.name == cfg.Backend && !b.unlocked }):
		return cfg, fmt.Errorf("reactor: Unlocked with backend %s; leave one of them out: %w", cfg.Backend, errors.ErrUnsupported)
	case cfg.Coalesce < 0 || cfg.Coalesce > maxCoalesce:
		return cfg, fmt.Errorf("reactor: Coalesce is %v; use 0 to %v", cfg.Coalesce, maxCoalesce)
	case cfg.Entries < 1 || cfg.Entries > 32768:
		return cfg, fmt.Errorf("reactor: Entries is %d; use 1 to 32768", cfg.Entries)
	case cfg.Buffers < 1 || cfg.Buffers > 32768 || cfg.Buffers&(cfg.Buffers-1) != 0:
		return cfg, fmt.Errorf("reactor: Buffers is %d; use a power of two up to 32768", cfg.Buffers)
	case cfg.BufferSize < 64 || cfg.BufferSize > 1<<24:
		return cfg, fmt.Errorf("reactor: BufferSize is %d; use 64 to 16777216 bytes", cfg.BufferSize)
	case cfg.Datagrams < 1 || cfg.Datagrams > 32768 || cfg.Datagrams&(cfg.Datagrams-1) != 0:
		return cfg, fmt.Errorf("reactor: Datagrams is %d; use a power of two up to 32768", cfg.Datagrams)
	case cfg.DatagramSize < 1 || cfg.DatagramSize > 65535:
		return cfg, fmt.Errorf("reactor: DatagramSize is %d; use 1 to 65535 bytes", cfg.DatagramSize)
	case cfg.Backend != "" && !slices.Contains(Backends(), cfg.Backend):
		return cfg, &UnknownBackendError{Name: cfg.Backend}
	}
	return cfg, nil
}

// An UnknownBackendError is the answer to a name this platform does not have.
// It matches errors.ErrUnsupported.
type UnknownBackendError struct{ Name string }

func (e *UnknownBackendError) Error() string {
	if len(backends) == 0 {
		return "reactor: no backend for this platform yet"
	}
	return fmt.Sprintf("reactor: unknown backend %q; use %s", e.Name, strings.Join(Backends(), " or "))
}

// Is makes the error match errors.ErrUnsupported.
func (e *UnknownBackendError) Is(target error) bool { return target == errors.ErrUnsupported }

// Select decides which backend a configuration leads to, and returns that
// configuration with the backend's name and every default filled in, so that
// each worker opens the same. A forced backend that cannot start is an error
// naming cause and cure; with none forced the next one is tried, and log
// (nil: no log) tells which won and why.
func Select(cfg Config, log *slog.Logger) (Config, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return cfg, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	var refusals []error
	for _, b := range backends {
		if cfg.Backend != "" && cfg.Backend != b.name {
			continue
		}
		try := cfg
		if err := b.probe(&try); err != nil {
			refusals = append(refusals, fmt.Errorf("reactor: backend %s cannot start: %w", b.name, err))
			continue
		}
		try.Backend, try.selected = b.name, true
		if len(refusals) > 0 {
			log.Warn("reactor: fell back", "backend", b.name, "reason", join(refusals).Error())
		} else {
			log.Debug("reactor: chosen", "backend", b.name, "forced", cfg.Backend != "", "without", try.Without)
		}
		return try, nil
	}
	if len(refusals) == 0 {
		return cfg, &UnknownBackendError{Name: cfg.Backend}
	}
	return cfg, join(refusals)
}

// join is errors.Join on one line.
func join(errs []error) error {
	err := errs[0]
	for _, next := range errs[1:] {
		err = fmt.Errorf("%w; %w", err, next)
	}
	return err
}

// Open starts a reactor. The calling goroutine must be locked to its thread
// and becomes the owner. A configuration that Select has not returned is put
// through Select first, without a log.
func Open(cfg Config) (Reactor, error) {
	if !cfg.selected {
		var err error
		if cfg, err = Select(cfg, nil); err != nil {
			return nil, err
		}
	}
	b := backends[slices.IndexFunc(backends, func(b backend) bool { return b.name == cfg.Backend })]
	r, err := b.open(&cfg)
	if err != nil {
		return nil, fmt.Errorf("reactor: backend %s cannot start: %w", b.name, err)
	}
	return r, nil
}
