package owned

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABucketHoldsItsValuesAlone(t *testing.T) {
	next := uint64(0)
	for i := range buckets {
		require.Equal(t, next, lowest(i), "bucket %d", i)
		next = lowest(i + 1)
		require.Equal(t, i, bucketOf(lowest(i)))
		require.Equal(t, i, bucketOf(next-1))
		b := Bin{Low: lowest(i), High: next - 1}
		require.LessOrEqual(t, b.Middle()-float64(b.Low), 0.01*float64(b.Low), "bucket %d", i)
		require.LessOrEqual(t, float64(b.High)-b.Middle(), 0.01*float64(b.High), "bucket %d", i)
	}
	require.Equal(t, uint64(Most+1), next)
}

// The quantiles of merged histograms, against those of the sorted values.
func TestQuantilesOfMergedHistogramsAreWithinOnePercent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	shapes := map[string]func() uint64{
		"uniform":     func() uint64 { return r.Uint64N(1e9) },
		"exponential": func() uint64 { return uint64(r.ExpFloat64() * 40e3) },
		"log-normal":  func() uint64 { return uint64(math.Exp(r.NormFloat64()*3 + 12)) },
		"few":         func() uint64 { return 7 + r.Uint64N(3)*1e6 },
	}
	for name, draw := range shapes {
		t.Run(name, func(t *testing.T) {
			var parts [3]Histogram
			var all []uint64
			total := uint64(0)
			for i := range 100_000 {
				v := min(draw(), Most)
				parts[i%len(parts)].Record(v, 1)
				all = append(all, v)
				total += v
			}
			slices.Sort(all)
			var s Sum
			for i := range parts {
				s.Add(&parts[i])
			}
			require.EqualValues(t, len(all), s.Count)
			require.Equal(t, total, s.Total)
			for _, q := range []float64{0, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1} {
				want := float64(all[max(0, int(math.Ceil(q*float64(len(all))))-1)])
				require.InDelta(t, want, s.Quantile(q), 0.01*want, "quantile %v", q)
			}
		})
	}
}

func TestAValueMayCountSeveralTimes(t *testing.T) {
	var h Histogram
	h.Record(50, 32)
	h.Record(10, 1)
	h.Record(math.MaxUint64, 1)
	var s Sum
	s.Add(&h)
	s.Add(nil)
	require.EqualValues(t, 34, s.Count)
	require.Equal(t, uint64(32*50+10+Most), s.Total)
	require.Equal(t, Bin{10, 10, 1}, s.Bins()[0])
	require.Equal(t, Bin{50, 50, 32}, s.Bins()[1])
	require.Equal(t, uint64(Most), s.Bins()[2].High)
}

func TestNothingWasRecorded(t *testing.T) {
	var s Sum
	require.Empty(t, s.Bins())
	require.True(t, math.IsNaN(s.Quantile(0.5)))
	s.Add(new(Histogram))
	require.True(t, math.IsNaN(s.Quantile(0.5)))
}

func TestRecordingAllocatesNothing(t *testing.T) {
	h, c := new(Histogram), new(Counter)
	require.Zero(t, testing.AllocsPerRun(100, func() { h.Record(12345, 1); c.Add(3) }))
}

// Under the race detector this shows that readers may read while owners write.
func TestReadersSeeValuesThatOnlyGrow(t *testing.T) {
	const owners, each = 2, 20_000
	var h [owners]Histogram
	var c [owners]Counter
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for i := range owners {
		writers.Go(func() {
			for v := range uint64(each) {
				h[i].Record(v, 1)
				c[i].Add(1)
			}
		})
	}
	readers.Go(func() {
		last, count := uint64(0), uint64(0)
		for end := false; !end; {
			select {
			case <-done:
				end = true
			default:
			}
			var s Sum
			n := uint64(0)
			for i := range owners {
				s.Add(&h[i])
				n += c[i].Load()
			}
			if s.Count < last || n < count {
				t.Errorf("a count went down: %d to %d, %d to %d", last, s.Count, count, n)
			}
			last, count = s.Count, n
		}
		if last != owners*each || count != owners*each {
			t.Errorf("%d and %d were counted", last, count)
		}
	})
	writers.Wait()
	close(done)
	readers.Wait()
}
