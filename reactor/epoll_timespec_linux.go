package reactor

import "time"

// kernelTimespec is __kernel_timespec, 64-bit on every architecture.
type kernelTimespec struct{ sec, nsec int64 }

func makeTimespec(d time.Duration) kernelTimespec {
	return kernelTimespec{sec: int64(d / time.Second), nsec: int64(d % time.Second)}
}
