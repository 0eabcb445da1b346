package conn

import (
	"testing"
	"unsafe"
)

// An idle connection is one allocation of a size class of the allocator's, on 64 bits;
// one more field makes it a quarter larger.
func TestAnIdleConnectionIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Conn{}); size > 256 {
		t.Errorf("a Conn has %d bytes; what few of them need belongs in extras, and what they need at times in backlog or mail", size)
	}
}
