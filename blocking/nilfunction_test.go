package blocking_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/sched"
)

func TestANilFunctionPanicsAtTheCall(t *testing.T) {
	p := newPool(t, blocking.Config{})
	var set sched.JoinSet[int]
	rt := start(t, sched.Config{Workers: 1})
	for name, call := range map[string]func(){
		"Submit":            func() { blocking.Submit[int](p, nil) },
		"DoFuture":          func() { blocking.DoFuture[int](p, nil) },
		"Do in a goroutine": func() { _, _ = blocking.Do[int](context.Background(), p, nil) },
		"SpawnIn":           func() { blocking.SpawnIn[int](&set, rt, p, nil) },
	} {
		require.Panics(t, call, name)
	}
	require.Zero(t, set.Len())
}
