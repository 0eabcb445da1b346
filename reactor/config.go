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

// EnvBackend is the environment variable that forces a backend if the configuration does not.
const EnvBackend = "SUIRO_BACKEND"

// A Config describes one reactor. The zero value is good for a server.
type Config struct {
	// Backend forces a backend: "io_uring" or "epoll" on Linux, "kqueue" on macOS and the BSDs,
	// "iocp" on Windows. "": the value of SUIRO_BACKEND, else the best one that starts.
	Backend string

	// Entries is the length of io_uring's submission queue, rounded up to a power of two. 0: 1024.
	// A full queue is submitted at once, so Entries bounds batches, not operations in flight.
	Entries int

	// Buffers and BufferSize define the receive memory: Buffers pieces (a power of two, at most
	// 32768) of BufferSize bytes each, mapped off the heap. Pages are touched as they are used. All
	// backends can fill a piece by several receives, io_uring since Linux 6.12. Otherwise one
	// receive fills a piece. 0: 32 and 64 KiB.
	Buffers, BufferSize int

	// Datagrams and DatagramSize define the receive memory of datagrams, which a reactor maps at
	// its first RecvFrom: Datagrams pieces (a power of two, at most 32768), each for one datagram
	// of up to DatagramSize bytes. Pages are touched as they are used. The rest of a longer
	// datagram is lost, and Packet.Truncated is set. 0: 256, and 65535, which no datagram exceeds.
	Datagrams, DatagramSize int

	// Unlocked says that the owner is a goroutine that is not locked to its thread. Poll then waits
	// in Go's own poller, like the goroutines that it wakes, or in an ordinary system call (kqueue,
	// iocp). io_uring cannot do that. With Unlocked, Backend "" means epoll on Linux.
	Unlocked bool

	// Coalesce is how long Poll sleeps (a nap) before it waits, as long as a nap brings three
	// completions or more. It saves wake-ups and adds this much latency, plus some 50 µs of the
	// kernel, more without high-resolution timers. After a nap that brought fewer, 8 waits have
	// none, then 16 and so on up to 1,024, so a single client is seldom delayed.
	//
	// A Wake ends a nap at once. Nothing is received during a nap: a socket's own buffer must be
	// large enough. 0: no naps. At most a millisecond. It is for epoll: Linux uses epoll if Backend
	// is "" and SUIRO_BACKEND is unset. It has no effect with other backends and with Unlocked:
	// io_uring's completions wake a thread whatever it waits for.
	Coalesce time.Duration

	// AnyThread prefers a backend whose owner need not be locked to a thread (see NeedsThread), so
	// that workers can steal stackful tasks from each other: epoll on Linux. It has no effect if
	// Backend or SUIRO_BACKEND names a backend.
	AnyThread bool

	// Without turns features of a backend off, as if the kernel lacked them: see the Feature
	// constants. It is for tests and for kernels with a broken feature.
	Without []Feature

	// OnShortage, if not nil, is called when the kernel has refused operations because it lacks
	// memory (ENOMEM or ENOBUFS of io_uring_enter). It gets the error and the time until the
	// reactor tries again: 1 ms, doubled up to 16 ms while the shortage lasts. No operation is
	// lost. The owner calls it, within Poll or Submit, so it must be quick and must not call the
	// reactor.
	OnShortage func(err error, pause time.Duration)

	// OnLoss, if not nil, is called when the kernel has dropped completions because it lacks memory
	// (io_uring). ended is the number of operations that end because of that: see Reactor.Poll. The
	// owner calls it within Poll, so it must be quick and must not call the reactor.
	OnLoss func(dropped, ended int)

	// OnOverflow, if not nil, is called when a Poll finds that completions wait in the kernel, as
	// the queue of completions is full (io_uring). None is lost. The owner calls it within Poll, so
	// it must be quick and must not call the reactor.
	OnOverflow func()

	faults *faults.Plan // of this module's tests: it makes system calls fail; nil: none fail

	selected bool // every field is set, and the backend has been probed
}

const maxCoalesce = time.Millisecond

// A Feature is an optional part of io_uring or kqueue.
type Feature string

// FeatureUserWake is kqueue's EVFILT_USER, which OpenBSD and NetBSD before 10 lack. Without it the
// backend uses a pipe.
const FeatureUserWake Feature = "user-wake"

// The features of io_uring, each with the first Linux version that has it.
const (
	FeatureMultishotAccept Feature = "multishot-accept" // 5.19; without it accept is re-armed each time
	FeatureMultishotRecv   Feature = "multishot-recv"   // 6.0; without it receive is re-armed each time
	FeatureIncremental     Feature = "incremental"      // 6.12: one buffer takes several receives
	FeatureCoopTaskrun     Feature = "coop-taskrun"     // 5.19: no interrupt for a completion
	FeatureSkipSuccess     Feature = "skip-success"     // 5.17: no completion for a cancel that found its target
)

// Backends lists the values of Config.Backend on this platform, best first.
func Backends() []string {
	names := make([]string, len(backends))
	for i, b := range backends {
		names[i] = b.name
	}
	return names
}

// NeedsThread reports whether the owner of a reactor of that backend must be locked to the thread
// that opened it, as the owner of an io_uring must. Otherwise it may be on another thread each
// time it calls the reactor.
func NeedsThread(name string) bool {
	return slices.ContainsFunc(backends, func(b backend) bool { return b.name == name && b.thread })
}

type backend struct {
	name  string
	probe func(cfg *Config) error // returns nil if the backend can start, else the reason and the remedy
	open  func(cfg *Config) (Reactor, error)

	thread    bool // its owner must be locked to a thread
	unlocked  bool // supports Config.Unlocked
	coalesces bool // supports Config.Coalesce
}

func (cfg Config) withDefaults() (Config, error) {
	cfg.Entries = cmp.Or(cfg.Entries, 1024)
	cfg.Buffers = cmp.Or(cfg.Buffers, 32)
	cfg.BufferSize = cmp.Or(cfg.BufferSize, 64<<10)
	cfg.Datagrams = cmp.Or(cfg.Datagrams, 256)
	cfg.DatagramSize = cmp.Or(cfg.DatagramSize, 65535)
	cfg.Backend = cmp.Or(cfg.Backend, os.Getenv(EnvBackend))
	suits := func(b backend) bool {
		return cfg.Unlocked && b.unlocked || !cfg.Unlocked && cfg.Coalesce > 0 && b.coalesces || cfg.AnyThread && !b.thread
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

// An UnknownBackendError is the error for a backend that this platform does not have. It matches
// errors.ErrUnsupported.
type UnknownBackendError struct{ Name string }

func (e *UnknownBackendError) Error() string {
	if len(backends) == 0 {
		return "reactor: no backend for this platform yet"
	}
	return fmt.Sprintf("reactor: unknown backend %q; use %s", e.Name, strings.Join(Backends(), " or "))
}

// Is makes the error match errors.ErrUnsupported.
func (e *UnknownBackendError) Is(target error) bool { return target == errors.ErrUnsupported }

// Select chooses the backend for a configuration. It returns the configuration with the backend's
// name and every default filled in, so that all workers open the same backend. A forced backend
// that cannot start is an error that names the reason and the remedy. If none is forced, the next
// one is tried. log gets the chosen backend and the reason (nil: no log).
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

// Open starts a reactor. The calling goroutine becomes the owner. It must be locked to its thread
// if NeedsThread says so. A configuration that does not come from Select is passed through Select
// first, without a log.
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
