package sched

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// yieldEvery is how long a worker that never blocks keeps its processor before
// it looks whether other goroutines want it.
const yieldEvery = time.Millisecond

// yield lets other goroutines run if some are waiting to. Gosched is dear on a
// locked thread, about 10 µs, so the runtime is asked first, which costs 0.1 µs.
func (w *worker) yield() {
	if w.cx.now-w.yielded < yieldEvery {
		return
	}
	w.yielded = w.cx.now
	sample := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 || sample[0].Value.Uint64() > 0 {
		runtime.Gosched()
	}
}
