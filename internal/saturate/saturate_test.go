package saturate_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/saturate"
)

// interesting is a duration near the bounds, near 0, or any.
func interesting(r *rand.Rand) time.Duration {
	near := time.Duration(r.IntN(5) - 2)
	switch r.IntN(4) {
	case 0:
		return math.MaxInt64 - max(0, near)
	case 1:
		return math.MinInt64 + max(0, near)
	case 2:
		return near
	default:
		return time.Duration(r.Uint64())
	}
}

func TestAddIsTheSumWithinTheBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	lowest, highest := big.NewInt(math.MinInt64), big.NewInt(math.MaxInt64)
	for range 100_000 {
		a, b := interesting(r), interesting(r)
		want := new(big.Int).Add(big.NewInt(int64(a)), big.NewInt(int64(b)))
		if want.Cmp(lowest) < 0 {
			want = lowest
		} else if want.Cmp(highest) > 0 {
			want = highest
		}
		require.Equal(t, want.Int64(), int64(saturate.Add(a, b)), "%d + %d", a, b)
	}
}

func TestSecondsAreRoundedUpWithinTheLimit(t *testing.T) {
	for d, want := range map[time.Duration]int{
		0: 0, 1: 1, time.Second: 1, time.Second + 1: 2, 100 * time.Second: 100, 101 * time.Second: 100,
		math.MaxInt64: 100, -time.Second: -1,
	} {
		require.Equal(t, want, saturate.Seconds(d, 100), "%v", d)
	}
}
