package sched

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// yieldEvery is how long a worker that never blocks keeps its processor before it checks whether
// other goroutines need it.
const yieldEvery = time.Millisecond

// yield lets other goroutines run if some are ready. Gosched on a locked thread takes about 10 µs,
// so it is called only then.
func (w *worker) yield() {
	if w.now-w.yielded < yieldEvery {
		return
	}
	w.yielded = w.now
	w.publish()
	if w.wanted() {
		runtime.Gosched()
	}
}

// wanted reports whether goroutines wait for a processor. This query of the Go runtime takes about
// 0.1 µs.
func (w *worker) wanted() bool {
	if w.runnable[0].Name == "" {
		w.runnable[0].Name = "/sched/goroutines/runnable:goroutines"
	}
	metrics.Read(w.runnable[:])
	v := w.runnable[0].Value
	return v.Kind() == metrics.KindUint64 && v.Uint64() > 0
}
