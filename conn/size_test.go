package conn

import (
	"testing"
	"unsafe"

	"github.com/suiro-go/suiro/internal/core"
)

// An idle connection is one allocation of a size class of the allocator's, on 64 bits;
// one more field makes it a quarter larger.
func TestAnIdleConnectionIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(core.Conn{}); size > 256 {
		t.Errorf("a Conn has %d bytes; what few of them need belongs in extras, and what they need at times in pendingWork or mailbox.Queue", size)
	}
}

// An idle handler's Stream is one allocation of a size class as well.
func TestAnIdleStreamIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Stream{}); size > 256 {
		t.Errorf("a Stream has %d bytes; those that are not a handler's have a part of their own", size)
	}
}
