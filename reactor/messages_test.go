package reactor_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
)

// Messages that are put into a pool must not keep the caller's memory reachable.
func TestMessagesReferToNothingAfterDropAndReset(t *testing.T) {
	type buffer [1 << 10]byte
	b := new(reactor.Messages)
	add := func() (data, control weak.Pointer[buffer]) {
		p, oob := new(buffer), new(buffer)
		b.Add(p[:])
		b.SetControl(b.Len()-1, oob[:])
		return weak.Make(p), weak.Make(oob)
	}
	kept, keptControl := add()
	dropped, droppedControl := add()
	b.Drop()
	require.Equal(t, 1, b.Len())
	conntest.Eventually(t, func() bool {
		runtime.GC()
		return dropped.Value() == nil && droppedControl.Value() == nil
	})
	require.NotNil(t, kept.Value())
	require.NotNil(t, keptControl.Value())
	b.Reset()
	conntest.Eventually(t, func() bool {
		runtime.GC()
		return kept.Value() == nil && keptControl.Value() == nil
	})
	runtime.KeepAlive(b)
}
