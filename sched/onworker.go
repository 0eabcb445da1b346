package sched

import "github.com/suiro-go/suiro/internal/onworker"

// ErrBlocksWorker says that a call would block a worker, which might then wait for itself. Errors
// that match it name the call and say what to use instead. They come from Block, Wait, and all
// calls that wait with an ordinary context. A worker's goroutine runs tasks, futures' Poll,
// handlers and most hooks. A call there still succeeds if it need not wait, and in BlockInPlace it
// may wait.
//
// Close and Shutdown return it on a worker of the runtime that they would end, also in
// BlockInPlace. Then they have no effect.
var ErrBlocksWorker = onworker.ErrBlocksWorker

// Place implements onworker.Host.
func (w *worker) Place() onworker.Place {
	return onworker.Place{Runtime: w.rt, Worker: w.index, MayBlock: w.mayBlock}
}

// Place implements onworker.Host. The worker is the one that has resumed the coroutine.
func (co *coroutine) Place() onworker.Place {
	p := co.cx.worker.Place()
	p.Stackful = true
	return p
}

// mayWaitForEnd returns an error on a worker of the runtime that has not ended.
func (rt *Runtime) mayWaitForEnd() error {
	select {
	case <-rt.stopped:
		return nil
	default:
		return onworker.End(rt)
	}
}
