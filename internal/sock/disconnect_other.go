//go:build !linux

package sock

import "errors"

func disconnect(int) error { return errors.ErrUnsupported }
