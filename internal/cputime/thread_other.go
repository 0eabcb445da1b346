//go:build !linux

package cputime

import "time"

// Thread is 0: threads are not told apart here.
func Thread() int { return 0 }

// Ran knows nothing here.
func Ran(int) (time.Duration, bool) { return 0, false }

// Self knows nothing here.
func Self() (thread int, r Reading) { return 0, Reading{} }

// Of knows nothing here.
func Of(int) (Reading, bool) { return Reading{}, false }
