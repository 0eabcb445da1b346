package owned

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// The buckets are log-linear, as in an HDR histogram: each range from one power of two to the next
// has 64 buckets of equal width. So a value and the middle of its bucket differ by less than 1 %,
// which is two significant digits. Values below 64 have buckets of their own.
const (
	linearBits = 6
	linear     = 1 << linearBits // buckets of a range
	mostBits   = 40
	buckets    = linear * (mostBits - linearBits + 1)

	// Most is the largest value that is told apart from larger ones: in nanoseconds 18 minutes, in
	// microseconds 12 days.
	Most = 1<<mostBits - 1
)

// A Histogram counts values by their size. The zero value is empty. The first value of a range
// allocates its 64 buckets, of 512 bytes: most owners see few ranges. All others allocate nothing.
type Histogram struct {
	sum    atomic.Uint64
	ranges [buckets / linear]atomic.Pointer[[linear]atomic.Uint64]
}

// Record counts a value n times. Values above Most count as Most. Only the owner calls it.
func (h *Histogram) Record(v uint64, n uint64) {
	v = min(v, Most)
	i := bucketOf(v)
	r := h.ranges[i/linear].Load()
	if r == nil {
		r = new([linear]atomic.Uint64)
		h.ranges[i/linear].Store(r)
	}
	c := &r[i%linear]
	c.Store(c.Load() + n)
	h.sum.Store(h.sum.Load() + v*n)
}

func bucketOf(v uint64) int {
	if v < linear {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - linearBits
	return shift*linear + int(v>>shift)
}

// lowest is the lowest value of a bucket.
func lowest(i int) uint64 {
	if i < linear {
		return uint64(i)
	}
	shift := i/linear - 1
	return uint64(i-shift*linear) << shift
}

// A Bin is a bucket that is not empty: its values are from Low to High, both included.
type Bin struct{ Low, High, Count uint64 }

// Middle is the value that stands for those of the bin.
func (b Bin) Middle() float64 { return (float64(b.Low) + float64(b.High)) / 2 }

// A Sum is the sum of histograms, as they were read.
type Sum struct {
	Count, Total uint64 // of values, and the sum of the values
	counts       *[buckets]uint64
}

// Add adds a histogram to the sum. Any goroutine may call it. nil is an empty histogram.
func (s *Sum) Add(h *Histogram) {
	if h == nil {
		return
	}
	if s.counts == nil {
		s.counts = new([buckets]uint64)
	}
	s.Total += h.sum.Load()
	for k := range h.ranges {
		r := h.ranges[k].Load()
		if r == nil {
			continue
		}
		for i := range r {
			n := r[i].Load()
			s.counts[k*linear+i] += n
			s.Count += n
		}
	}
}

// Bins are the bins, in ascending order.
func (s *Sum) Bins() (all []Bin) {
	if s.counts == nil {
		return nil
	}
	for i, n := range s.counts {
		if n > 0 {
			all = append(all, Bin{Low: lowest(i), High: lowest(i+1) - 1, Count: n})
		}
	}
	return all
}

// Quantile is the value below or at which the share q of the values lies, from 0 to 1. It differs
// from the true one by less than 1 %. Without values it is NaN.
func (s *Sum) Quantile(q float64) float64 {
	rank := max(1, uint64(math.Ceil(q*float64(s.Count))))
	for _, b := range s.Bins() {
		if rank <= b.Count {
			return b.Middle()
		}
		rank -= b.Count
	}
	return math.NaN()
}
