package blocking

import "sync"

// A lock is a mutex for a few instructions. Who finds it taken tries again for as long
// as these take before it waits: a sync.Mutex would first pause, for a microsecond and
// a half at a time, and then park, which for a worker costs ten.
type lock struct{ sync.Mutex }

const lockTries = 100

func (l *lock) Lock() {
	for range lockTries {
		if l.TryLock() {
			return
		}
	}
	l.Mutex.Lock()
}
