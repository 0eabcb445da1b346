package uring

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

func (r *Ring) register(op uint32, arg unsafe.Pointer, n uint32) error {
	if r.fd < 0 {
		return os.NewSyscallError("io_uring_register", unix.EBADF) // since 6.13, -1 means "no ring", not a bad one
	}
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), uintptr(op), uintptr(arg), uintptr(n), 0, 0)
	if errno != 0 {
		return os.NewSyscallError("io_uring_register", errno)
	}
	return nil
}

// syncCancelReg is struct io_uring_sync_cancel_reg.
type syncCancelReg struct {
	addr    uint64
	fd      int32
	flags   uint32
	timeout Timespec
	opcode  uint8
	_       [7]byte
	_       [3]uint64
}

// SyncCancel cancels the operation with that user data from any thread, without
// the queues, and does not wait for its end. The error matches ENOENT if there is
// none, EINVAL before Linux 6.0.
func (r *Ring) SyncCancel(userData uint64) error {
	reg := syncCancelReg{addr: userData, fd: -1}
	return r.register(IORING_REGISTER_SYNC_CANCEL, unsafe.Pointer(&reg), 1)
}

// probeOps is the most operations that the kernel takes in a probe.
const probeOps = 256

const opSupported = 1 << 0 // IO_URING_OP_SUPPORTED

// Probe tells which operations the kernel supports. It says nothing about their modifiers
// (multishot, for one): those are found by trying.
type Probe struct {
	lastOp uint8
	opsLen uint8
	resv   uint16
	resv2  [3]uint32
	ops    [probeOps]probeOp
}

type probeOp struct {
	op    uint8
	resv  uint8
	flags uint16
	resv2 uint32
}

var _ [16 + 8*probeOps]byte = [unsafe.Sizeof(Probe{})]byte{}

// Probe asks the kernel for its operations. Kernels before 5.6 answer EINVAL.
func (r *Ring) Probe() (*Probe, error) {
	p := new(Probe)
	if err := r.register(IORING_REGISTER_PROBE, unsafe.Pointer(p), probeOps); err != nil {
		return nil, err
	}
	return p, nil
}

// Supports reports whether the kernel knows the operation and was built with it.
func (p *Probe) Supports(op uint8) bool {
	return op < p.opsLen && p.ops[op].op == op && p.ops[op].flags&opSupported != 0
}

// LastOp is the highest operation that the kernel knows.
func (p *Probe) LastOp() uint8 { return p.lastOp }
