package explore_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/explore"
)

// outcomes are the final states of three threads. The threads do random operations on two words
// and on a flag that they may wait for.
func outcomes(t *testing.T, o explore.Options, seed uint64) map[string]bool {
	all := make(map[string]bool)
	r := explore.Run(o, func(x *explore.Execution) {
		var words [2]word
		var seen [3][]int32
		flag := 0
		random := rand.New(rand.NewPCG(seed, 0))
		for i := range seen {
			var program [3]int
			for at := range program {
				program[at] = random.IntN(12)
			}
			x.Go(fmt.Sprint(i), func() {
				for at, do := range program {
					w, v := &words[do%2], int32(i*10+at)
					switch do / 2 {
					case 0, 1:
						seen[i] = append(seen[i], w.Load())
					case 2:
						w.Store(v)
					case 3:
						seen[i] = append(seen[i], w.Add(v))
					case 4:
						w.CompareAndSwap(w.Load(), v)
					default:
						if do%2 == 0 {
							explore.Step(x, "raises", &flag, func() { flag++ })
						} else {
							explore.Rest(x, "lowers", &flag, func() bool { return flag > 0 }, func() { flag-- })
						}
					}
				}
			})
		}
		x.Finally(func() { all[fmt.Sprint(words[0].Load(), words[1].Load(), seen, flag)] = true })
	})
	require.Empty(t, r.Failure)
	return all
}

// To skip schedules that differ only in commuting steps skips no outcome.
func TestUnboundedSearchReachesWhatABoundThatIsLargeEnoughDoes(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		want := outcomes(t, explore.Options{Preemptions: 5}, seed)
		require.Equal(t, want, outcomes(t, explore.Options{Preemptions: explore.Unbounded}, seed), "seed %d", seed)
	}
}
