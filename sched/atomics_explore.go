//go:build explore

package sched

import explorer "github.com/suiro-go/suiro/sched/internal/explore"

// Under the tag explore, each operation on an atomic word of the lock-free parts
// is a point at which the interleaving explorer may let another thread go on.
// Outside of its threads they act as those of sync/atomic do.
type (
	atomicInt32  = explorer.Word[int32]
	atomicInt64  = explorer.Word[int64]
	atomicUint32 = explorer.Word[uint32]
	atomicUint64 = explorer.Word[uint64]
	atomicTask   = explorer.Pointer[Task]
	mutex        = explorer.Mutex
)
