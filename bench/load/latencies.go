package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longest is what a longer latency is counted as.
const longest = 10 * time.Minute

// quantiles are where a curve of latencies is told.
var quantiles = []float64{10, 25, 50, 75, 90, 95, 98, 99, 99.5, 99.9, 99.95, 99.99, 100}

// A histogram counts latencies with three digits (an HDR histogram, by Tene), so that those of days
// fit into
// 300 KiB and none is lost.
type histogram struct{ *hdrhistogram.Histogram }

func newHistogram() histogram { return histogram{hdrhistogram.New(1, int64(longest), 3)} }

func (h histogram) record(d time.Duration) {
	_ = h.RecordValue(min(max(int64(d), 0), int64(longest))) // which is in range
}

// Latencies sum up times.
type Latencies struct {
	Count int64         `json:"count"`
	Mean  time.Duration `json:"mean_nanoseconds"`
	P50   time.Duration `json:"p50_nanoseconds"`
	P90   time.Duration `json:"p90_nanoseconds"`
	P99   time.Duration `json:"p99_nanoseconds"`
	P999  time.Duration `json:"p999_nanoseconds"`
	Max   time.Duration `json:"max_nanoseconds"`
	Curve []Point       `json:"curve,omitempty"`

	Counts []Count `json:"counts,omitempty"` // of an open loop: the whole histogram
}

// A Count is how many took about so long.
type Count struct {
	Took time.Duration `json:"ns"`
	N    int64         `json:"n"`
}

// A Point of a curve: that percentage of all took no longer.
type Point struct {
	Percentile float64       `json:"percentile"`
	Took       time.Duration `json:"nanoseconds"`
}

func (h histogram) latencies() Latencies {
	if h.Histogram == nil || h.TotalCount() == 0 {
		return Latencies{}
	}
	at := func(p float64) time.Duration { return time.Duration(h.ValueAtQuantile(p)) }
	l := Latencies{
		Count: h.TotalCount(), Mean: time.Duration(h.Mean()), Max: time.Duration(h.Max()),
		P50: at(50), P90: at(90), P99: at(99), P999: at(99.9),
	}
	for _, p := range quantiles {
		l.Curve = append(l.Curve, Point{p, at(p)})
	}
	return l
}

// counts are all that was recorded, in ascending order.
func (h histogram) counts() (all []Count) {
	if h.Histogram == nil {
		return nil
	}
	for _, b := range h.Distribution() {
		if b.Count > 0 {
			all = append(all, Count{time.Duration(b.To), b.Count})
		}
	}
	return all
}
