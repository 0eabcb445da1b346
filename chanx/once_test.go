//go:build !explore

package chanx_test

import (
	"errors"

	"github.com/suiro-go/suiro/sched"
)

var errNotYet = errors.New("not yet")

// once polls f once, and returns errNotYet if f is not done then. It does not abandon f: f is then
// like the future of a task that does not run for a while.
func once[T any](f sched.Future[T]) sched.Future[T] {
	return sched.FutureFunc[T](func(cx *sched.Context) (T, error) {
		v, err := f.Poll(cx)
		if err == sched.ErrPending {
			err = errNotYet
		}
		return v, err
	})
}

func yield() sched.Future[struct{}] { return sched.Yield() }
