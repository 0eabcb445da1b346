package seldom

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var start = time.Unix(1_000_000_000, 0)

func TestALimiterPassesOneLineASecond(t *testing.T) {
	var g Limiter
	for _, c := range []struct {
		at   time.Duration
		want bool
	}{
		{0, true},
		{0, false},
		{time.Second - 1, false},
		{time.Second, true},
		{2*time.Second - 1, false},
		{time.Hour, true},
	} {
		require.Equal(t, c.want, g.Pass(start.Add(c.at)), "after %v", c.at)
	}
}

func TestOfLinesAtOneTimeALimiterPassesOne(t *testing.T) {
	var g Limiter
	var passed atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if g.Pass(start) {
				passed.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, passed.Load())
}
