//go:build !linux

package sock

import (
	"errors"
	"fmt"
)

var errReports = fmt.Errorf("conn: ECN, TTL and times of datagrams are Linux's here: %w", errors.ErrUnsupported)

// WantSource reports false: only Linux sends from an address that a datagram names.
func WantSource(int, bool) bool { return false }

// WantECN is not supported here.
func WantECN(int, bool, bool) error { return errReports }

// WantTTL is not supported here.
func WantTTL(int, bool, bool) error { return errReports }

// WantTimes is not supported here.
func WantTimes(int, bool) error { return errReports }

// SetECN is not supported here.
func SetECN(int, bool, int) error { return errReports }

// SetTTL is not supported here.
func SetTTL(int, bool, int) error { return errReports }
