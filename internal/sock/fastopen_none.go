//go:build dragonfly || netbsd || openbsd

package sock

import (
	"errors"
	"fmt"
)

// ListenFastOpen has nothing to set here.
func ListenFastOpen(int, int) error {
	return fmt.Errorf("TCP Fast Open is not there: %w", errors.ErrUnsupported)
}
