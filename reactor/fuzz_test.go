package reactor_test

import (
	"testing"

	"github.com/suiro-go/suiro/reactor/internal/reactortest"
)

// FuzzSameBytes runs a program of operations on every backend: each must deliver the same bytes.
func FuzzSameBytes(f *testing.F) {
	backends := reactortest.Complete(f)
	f.Add([]byte{0, 4, 7, 4, 7, 1, 4, 0, 7, 2, 7, 3, 5, 6, 7})              // receives, cancels, releases
	f.Add([]byte{252, 250, 255, 248, 252, 252, 252, 252, 252, 255, 249, 7}) // more than the buffers hold
	f.Add([]byte{2, 3, 2, 3, 0, 1, 0, 1, 4, 6, 7})                          // cancels in the same batch
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 400 {
			t.Skip("long programs find nothing that short ones do not")
		}
		for _, b := range backends {
			reactortest.Interpret(t, b, program)
		}
	})
}
