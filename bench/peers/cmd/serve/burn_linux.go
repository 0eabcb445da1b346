package main

import (
	"log"
	"math"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// burn uses the CPU for so many iterations, whose number calibrate has found. It counts work, not
// time: a goroutine that loses its CPU, or moves to another thread, still has all of the rest
// before it. The result is of no use, but keeps the loop in the program.
//
//go:noinline
func burn(iterations uint64) uint64 { //nolint:unparam // the result keeps the loop
	x := iterations | 1
	for range iterations {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// calibrate finds the iterations that take so much CPU time of a thread, and the time that they
// took. It takes the fastest of some tries: others only make it slower.
func calibrate(want time.Duration) (iterations uint64, took time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const trial = 1 << 20
	fastest := time.Duration(math.MaxInt64)
	for range 40 {
		before := threadCPU()
		_ = burn(trial)
		fastest = min(fastest, threadCPU()-before)
	}
	iterations = uint64(float64(trial) * float64(want) / float64(fastest))
	took = math.MaxInt64
	for range 5 {
		before := threadCPU()
		_ = burn(iterations)
		took = min(took, threadCPU()-before)
	}
	return iterations, took
}

// threadCPU is the CPU time that the calling thread has used.
func threadCPU() time.Duration {
	const clockThreadCPU = 3 // CLOCK_THREAD_CPUTIME_ID
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		log.Fatal("clock_gettime: ", errno)
	}
	return time.Duration(ts.Nano())
}
