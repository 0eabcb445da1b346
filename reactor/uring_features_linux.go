package reactor

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/reactor/internal/uring"
)

// features are the optional parts of io_uring.
type features struct {
	multishotAccept, multishotRecv, incremental, coopTaskrun, skipSuccess bool
}

var allFeatures = features{true, true, true, true, true}

func (f *features) field(name Feature) *bool {
	switch name {
	case FeatureMultishotAccept:
		return &f.multishotAccept
	case FeatureMultishotRecv:
		return &f.multishotRecv
	case FeatureIncremental:
		return &f.incremental
	case FeatureCoopTaskrun:
		return &f.coopTaskrun
	case FeatureSkipSuccess:
		return &f.skipSuccess
	}
	return nil
}

func (f features) without(names []Feature) features {
	for _, name := range names {
		if p := f.field(name); p != nil {
			*p = false
		}
	}
	return f
}

// Required. Linux 5.19 has all of them: buffer rings are the newest.
const neededFeatures = uring.IORING_FEAT_NODROP | uring.IORING_FEAT_EXT_ARG | uring.IORING_FEAT_FAST_POLL

var neededOps = []uint8{
	uring.IORING_OP_ACCEPT, uring.IORING_OP_RECV, uring.IORING_OP_SEND, uring.IORING_OP_CONNECT,
	uring.IORING_OP_READ, uring.IORING_OP_ASYNC_CANCEL,
}

// probeURing tries everything that the backend uses on a small ring. It adds optional features that
// the kernel lacks to cfg.Without.
func probeURing(cfg *Config) error {
	has := allFeatures.without(cfg.Without)
	for _, name := range cfg.Without {
		if has.field(name) == nil {
			return fmt.Errorf("unknown feature %q in Without", name)
		}
	}
	ring, err := setupRing(8, &has)
	if err != nil {
		return err
	}
	defer func() { _ = ring.Close() }()
	if lacks := neededFeatures &^ ring.Features(); lacks != 0 {
		return fmt.Errorf("%w (features %#x are missing)", errOldKernel, lacks)
	}
	probe, err := ring.Probe()
	if err != nil {
		return fmt.Errorf("%w (%w)", errOldKernel, err)
	}
	for _, op := range neededOps {
		if !probe.Supports(op) {
			return fmt.Errorf("%w (operation %d is missing)", errOldKernel, op)
		}
	}
	has.skipSuccess = has.skipSuccess && ring.Features()&uring.IORING_FEAT_CQE_SKIP != 0
	if err := probeReceive(ring, &has); err != nil {
		return err
	}
	for _, name := range []Feature{FeatureMultishotAccept, FeatureMultishotRecv, FeatureIncremental, FeatureCoopTaskrun, FeatureSkipSuccess} {
		if !*has.field(name) && !slices.Contains(cfg.Without, name) {
			cfg.Without = append(slices.Clip(cfg.Without), name)
		}
	}
	return nil
}

// probeReceive receives two bytes, one after the other, and checks their completions. Modifiers of
// operations are in no list, so they have to be tried.
func probeReceive(ring *uring.Ring, has *features) error {
	const size = 4096
	mem, err := mapMemory(size)
	if err != nil {
		return err
	}
	defer func() { _ = unmapMemory(mem) }()
	bufs, err := ring.NewBufRing(bufferGroup, 1, uring.IOU_PBUF_RING_INC)
	if err != nil {
		has.incremental = false
		if bufs, err = ring.NewBufRing(bufferGroup, 1, 0); err != nil {
			return fmt.Errorf("%w (buffer rings are missing: %w)", errOldKernel, err)
		}
	}
	defer func() { _ = bufs.Close() }()
	bufs.Add(unsafe.Pointer(unsafe.SliceData(mem)), size, 0)
	bufs.Advance()

	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return explainURing(fmt.Errorf("socketpair: %w", err))
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	if _, err := unix.Write(pair[1], []byte{1}); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	e := ring.NextSQE()
	e.PrepRecv(pair[0], bufferGroup, has.multishotRecv)
	for ring.CQReady() == 0 {
		if _, errno := ring.Enter(1, true, time.Second, false); errno != 0 && errno != unix.EINTR {
			return explainURing(fmt.Errorf("io_uring_enter: %w", errno))
		}
	}
	c := *ring.CQE(0)
	ring.AdvanceCQ(1)
	switch {
	case c.Res == 1:
		has.multishotRecv = has.multishotRecv && c.More()
		has.incremental = has.incremental && c.BufMore()
		return nil
	case has.multishotRecv: // EINVAL before Linux 6.0
		has.multishotRecv, has.incremental = false, false
		return nil
	default:
		return fmt.Errorf("%w (receiving into a buffer ring: %w)", errOldKernel, unix.Errno(-c.Res))
	}
}

// setupRing creates a ring with the best flags that this kernel supports. DEFER_TASKRUN is not
// among them: another worker must be able to see completions while the owner is stuck in a handler.
func setupRing(entries uint32, has *features) (*uring.Ring, error) {
	const common = uring.IORING_SETUP_CLAMP | uring.IORING_SETUP_SUBMIT_ALL
	const coop = uring.IORING_SETUP_COOP_TASKRUN | uring.IORING_SETUP_TASKRUN_FLAG
	p := uring.Params{Entries: entries, CQEntries: 4 * entries}
	for _, flags := range []uint32{common | coop | uring.IORING_SETUP_NO_SQARRAY, common | coop, common} {
		if flags&coop != 0 && !has.coopTaskrun {
			continue
		}
		p.Flags = flags
		ring, err := uring.New(p)
		if !errors.Is(err, unix.EINVAL) {
			has.coopTaskrun = flags&coop != 0
			return ring, explainURing(err)
		}
	}
	return nil, errOldKernel
}

var errOldKernel = errors.New("this kernel's io_uring is too old; use Linux 5.19 or later, or the epoll backend (" + EnvBackend + "=epoll)")

// explainURing adds the reason and the remedy to an error of io_uring.
func explainURing(err error) error {
	var why string
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		why = "io_uring is forbidden here, by the sysctl kernel.io_uring_disabled or a container's seccomp profile; allow it"
	case errors.Is(err, unix.ENOSYS):
		why = "this kernel was built without io_uring, or a container's seccomp profile hides it; allow it"
	case errors.Is(err, unix.ENOMEM):
		why = "too little lockable memory; raise the limit (ulimit -l)"
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return fmt.Errorf("too many open files; raise the limit (ulimit -n): %w", err)
	default:
		return err
	}
	return fmt.Errorf("%s, or use the epoll backend (%s=epoll): %w", why, EnvBackend, err)
}
