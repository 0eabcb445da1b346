//go:build explore

package sched

import "github.com/suiro-go/suiro/internal/atomics"

// A spinLock is a lock that the explorer's threads can wait for.
type spinLock = atomics.Mutex
