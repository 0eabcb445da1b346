package blocking

import "github.com/suiro-go/suiro/internal/atomics"

// A lock is a mutex for a few instructions: see atomics.Lock.
type lock struct{ atomics.Mutex }

func (l *lock) Lock() { atomics.Lock(&l.Mutex) }
