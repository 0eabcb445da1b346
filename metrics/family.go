package metrics

import (
	"cmp"
	"math"
	"slices"
)

// A Kind says how the values of a family behave.
type Kind uint8

// The kinds. Their names are those of OpenMetrics.
const (
	Gauge     Kind = iota // goes up and down
	Counter               // only goes up, from the start of the server on
	Histogram             // durations or sizes, counted by ranges
)

// String returns the kind's name in lower case.
func (k Kind) String() string {
	switch k {
	case Counter:
		return "counter"
	case Histogram:
		return "histogram"
	}
	return "gauge"
}

// A Family is one figure, with a value for each combination of labels.
type Family struct {
	Name    string // of OpenTelemetry, such as suiro.connection.duration
	Help    string // one sentence
	Unit    string // of UCUM, as OpenTelemetry has it: "s", "By", "1", or "{connection}"
	Kind    Kind
	Samples []Sample
}

// A Label is a name and a value that tell samples of one family apart. OpenTelemetry calls it an
// attribute.
type Label struct{ Name, Value string }

// A Sample is the value for one combination of labels.
type Sample struct {
	Labels       []Label
	Value        float64       // of a Gauge or a Counter
	Distribution *Distribution // of a Histogram
}

// A Distribution is the value of a histogram. Counts[i] is the number of values above Bounds[i-1]
// and up to Bounds[i]. The last element of Counts has the values above all bounds, so Counts has
// one element more than Bounds. Bounds are in the unit of the family, in ascending order.
type Distribution struct {
	Count  uint64
	Sum    float64
	Bounds []float64
	Counts []uint64

	// Bins are the same values in finer ranges, in ascending order, or nil. Texts do not have them.
	Bins []Bin
}

// A Bin is the number of values about Value.
type Bin struct {
	Value float64 // the middle of the range
	Count uint64
}

// Quantile returns the value below which the share q of the values lies, from 0 to 1. By Bins it is
// exact to 1 %. Without them it is the upper bound of a range. It is NaN without values.
func (d *Distribution) Quantile(q float64) float64 {
	rank := max(1, uint64(math.Ceil(q*float64(d.Count))))
	for _, b := range d.Bins {
		if rank <= b.Count {
			return b.Value
		}
		rank -= b.Count
	}
	if len(d.Bins) > 0 || len(d.Bounds) == 0 || d.Count == 0 {
		return math.NaN()
	}
	for i, bound := range d.Bounds {
		if rank <= d.Counts[i] {
			return bound
		}
		rank -= d.Counts[i]
	}
	return math.Inf(1)
}

// A Source has figures. A *server.Server, a *conn.Group, a *sched.Runtime and a *blocking.Pool are
// sources. Metrics may be called from any goroutine.
type Source interface{ Metrics() []Family }

// A SourceFunc is a Source that calls the function.
type SourceFunc func() []Family

// Metrics calls f.
func (f SourceFunc) Metrics() []Family { return f() }

// Gather returns the families of all sources, in the order of their first appearance. Families of
// the same name become one. Samples with equal labels are added, so give sources that must stay
// apart labels of their own: see [WithLabels].
func Gather(sources ...Source) []Family {
	var all []Family
	place := map[string]int{}
	for _, s := range sources {
		for _, f := range s.Metrics() {
			i, known := place[f.Name]
			if !known {
				place[f.Name] = len(all)
				f.Samples = slices.Clone(f.Samples)
				all = append(all, f)
				continue
			}
			all[i].merge(f.Samples)
		}
	}
	return all
}

// WithLabels returns a Source with the figures of s, whose samples have further labels.
func WithLabels(s Source, labels ...Label) Source {
	return SourceFunc(func() []Family {
		all := slices.Clone(s.Metrics())
		for i := range all {
			samples := slices.Clone(all[i].Samples)
			for j := range samples {
				samples[j].Labels = slices.Concat(labels, samples[j].Labels)
			}
			all[i].Samples = samples
		}
		return all
	})
}

// merge adds samples: to those with equal labels, or as new ones.
func (f *Family) merge(samples []Sample) {
	for _, s := range samples {
		i := slices.IndexFunc(f.Samples, func(t Sample) bool { return slices.Equal(t.Labels, s.Labels) })
		if i < 0 {
			f.Samples = append(f.Samples, s)
			continue
		}
		f.Samples[i].add(s)
	}
}

func (s *Sample) add(t Sample) {
	s.Value += t.Value
	switch d := t.Distribution; {
	case d == nil:
	case s.Distribution == nil:
		s.Distribution = d
	case slices.Equal(s.Distribution.Bounds, d.Bounds):
		sum := *s.Distribution
		sum.Count, sum.Sum, sum.Counts = sum.Count+d.Count, sum.Sum+d.Sum, slices.Clone(sum.Counts)
		for i, n := range d.Counts {
			sum.Counts[i] += n
		}
		sum.Bins = mergeBins(sum.Bins, d.Bins)
		s.Distribution = &sum
	}
}

func mergeBins(a, b []Bin) []Bin {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y Bin) int { return cmp.Compare(x.Value, y.Value) })
	out := all[:0]
	for _, bin := range all {
		if last := len(out) - 1; last >= 0 && out[last].Value == bin.Value {
			out[last].Count += bin.Count
		} else {
			out = append(out, bin)
		}
	}
	return out
}
