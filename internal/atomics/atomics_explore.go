//go:build explore

package atomics

import "github.com/suiro-go/suiro/internal/explore"

type (
	Int32          = explore.Word[int32]
	Int64          = explore.Word[int64]
	Uint32         = explore.Word[uint32]
	Uint64         = explore.Word[uint64]
	Bool           = explore.Bool
	Pointer[T any] = explore.Pointer[T]
	Mutex          = explore.Mutex
)

// Lock locks a mutex.
func Lock(mu *Mutex) { mu.Lock() }
