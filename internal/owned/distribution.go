package owned

import "github.com/suiro-go/suiro/metrics"

// The bounds of exported histograms, in seconds. A value that is within 1 % of a bound may be
// counted on its other side, since it stands for its bin.
var (
	// Short are bounds for runs of tasks and waits in queues.
	Short = []float64{1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 10}
	// Long are bounds for lives of connections and for handshakes.
	Long = []float64{1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 36000}
)

// Distribution is the sum for export. unit is what a recorded 1 is in the unit of the family, such
// as 1e-9 for nanoseconds of a family in seconds.
func (s *Sum) Distribution(unit float64, bounds []float64) *metrics.Distribution {
	d := &metrics.Distribution{Count: s.Count, Sum: float64(s.Total) * unit, Bounds: bounds, Counts: make([]uint64, len(bounds)+1)}
	i := 0
	for _, b := range s.Bins() {
		v := b.Middle() * unit
		for i < len(bounds) && v > bounds[i] {
			i++
		}
		d.Counts[i] += b.Count
		d.Bins = append(d.Bins, metrics.Bin{Value: v, Count: b.Count})
	}
	return d
}
