package sock

import (
	"errors"
	"fmt"
)

// ErrWouldWait ends a raw Read or Write whose function returns false.
var ErrWouldWait = fmt.Errorf("the socket is not ready, and a raw call cannot wait beside the reactor: use Read or Write: %w", errors.ErrUnsupported)

// UseAndClose calls f with a descriptor and closes the descriptor. If f returns false, the error is
// ErrWouldWait.
func UseAndClose(fd int, f func(fd uintptr) bool) error {
	defer Close(fd) // also if f panics
	if !f(uintptr(fd)) {
		return ErrWouldWait
	}
	return nil
}
