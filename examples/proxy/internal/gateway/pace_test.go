package gateway

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAPaceIsAnAverageOverTheTimeWaited(t *testing.T) {
	p := pace{rate: 100, grace: 10 * time.Second}
	require.Equal(t, 10*time.Second, p.limit(0, time.Hour))
	require.Equal(t, time.Second, p.limit(0, time.Second), "idle goes before")
	p.waited = 4 * time.Second
	require.Equal(t, 6*time.Second, p.limit(0, time.Hour))
	require.Equal(t, 8*time.Second, p.limit(200, time.Hour))
	p.moved = 1000
	require.Equal(t, 16*time.Second, p.limit(0, time.Hour))
	p.waited = time.Minute
	require.Zero(t, p.limit(0, time.Hour))
	p.moved = math.MaxInt64 / 2
	require.Equal(t, time.Hour, p.limit(0, time.Hour))
	none := pace{grace: time.Second, waited: time.Hour}
	require.Equal(t, time.Minute, none.limit(0, time.Minute))
}
