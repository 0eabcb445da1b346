package sock

import (
	"errors"
	"fmt"
)

// ErrWouldWait is why a raw Read or Write ends whose function wants to wait.
var ErrWouldWait = fmt.Errorf("the socket is not ready, and a raw call cannot wait beside the reactor: use Read or Write: %w", errors.ErrUnsupported)

// Lend calls f with a descriptor and closes that. If f returns false, the error is ErrWouldWait.
func Lend(fd int, f func(fd uintptr) bool) error {
	defer Close(fd) // also if f panics
	if !f(uintptr(fd)) {
		return ErrWouldWait
	}
	return nil
}
