//go:build !linux && !darwin && !freebsd

package sock

import (
	"errors"
	"fmt"
)

// PeerCred is for Linux, macOS and FreeBSD.
func PeerCred(int) (Cred, error) {
	return Cred{}, fmt.Errorf("credentials of a peer: %w", errors.ErrUnsupported)
}
