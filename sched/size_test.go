package sched

import (
	"testing"
	"unsafe"
)

// Each idle sequential connection has a coroutine. On 64 bits it is one allocation of one of the
// allocator's size classes.
func TestACoroutineIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(coroutine{}); size > 176 {
		t.Errorf("a coroutine has %d bytes", size)
	}
}
