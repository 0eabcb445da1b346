package panics

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTryTellsPanicsReturnsAndExitsApart(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	require.Nil(t, Try(func() {}))

	p := Try(func() { panic("oh") })
	require.Equal(t, "oh", p.Value)
	require.Contains(t, string(p.Stack), "panics_test.go", "the stack says where")

	p = Try(func() { panic(nil) })
	require.Equal(t, new(runtime.PanicNilError), p.Value)

	over := make(chan bool)
	go func() {
		returned := false
		defer func() { over <- returned }()
		Try(runtime.Goexit)
		returned = true
	}()
	require.False(t, <-over)
}
