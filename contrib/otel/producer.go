package otel

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/suiro-go/suiro/metrics"
)

// scope is the instrumentation scope of figures and spans.
const scope = "github.com/suiro-go/suiro"

// A Producer is a metric.Producer that reads sources anew for each collection. The API's
// instruments are not used, since they take single values and no finished histograms. So views of
// the SDK do not apply. Any goroutine may call its methods. To read the figures stops no worker.
type Producer struct {
	sources []metrics.Source
	began   time.Time
}

var _ metric.Producer = (*Producer)(nil)

// NewProducer returns a Producer of sources: a *server.Server, a *conn.Group, a *sched.Runtime, a
// *blocking.Pool. Samples with equal names and labels are added, as metrics.Gather does; give
// sources that must stay apart labels of their own by metrics.WithLabels.
//
// Counters and histograms are cumulative. Their start time is that of NewProducer, so call it
// before the server starts.
func NewProducer(sources ...metrics.Source) *Producer {
	return &Producer{sources: sources, began: time.Now()}
}

// Produce returns the figures of now. Families without samples are left out. The error is always
// nil.
func (p *Producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	now, all := time.Now(), metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: scope}}
	for _, f := range metrics.Gather(p.sources...) {
		if len(f.Samples) == 0 {
			continue
		}
		all.Metrics = append(all.Metrics, metricdata.Metrics{Name: f.Name, Description: f.Help, Unit: f.Unit, Data: p.dataOf(&f, now)})
	}
	if len(all.Metrics) == 0 {
		return nil, nil
	}
	return []metricdata.ScopeMetrics{all}, nil
}

func (p *Producer) dataOf(f *metrics.Family, now time.Time) metricdata.Aggregation {
	switch f.Kind {
	case metrics.Counter:
		return metricdata.Sum[float64]{DataPoints: p.points(f, now), Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}
	case metrics.Histogram:
		return metricdata.Histogram[float64]{DataPoints: p.histograms(f, now), Temporality: metricdata.CumulativeTemporality}
	}
	return metricdata.Gauge[float64]{DataPoints: p.points(f, now)}
}

func (p *Producer) points(f *metrics.Family, now time.Time) []metricdata.DataPoint[float64] {
	all := make([]metricdata.DataPoint[float64], len(f.Samples))
	for i := range f.Samples {
		s := &f.Samples[i]
		all[i] = metricdata.DataPoint[float64]{Attributes: attributesOf(s.Labels), StartTime: p.began, Time: now, Value: s.Value}
	}
	return all
}

func (p *Producer) histograms(f *metrics.Family, now time.Time) []metricdata.HistogramDataPoint[float64] {
	all := make([]metricdata.HistogramDataPoint[float64], len(f.Samples))
	for i := range f.Samples {
		s := &f.Samples[i]
		all[i] = metricdata.HistogramDataPoint[float64]{Attributes: attributesOf(s.Labels), StartTime: p.began, Time: now}
		if d := s.Distribution; d != nil {
			all[i].Count, all[i].Sum = d.Count, d.Sum
			all[i].Bounds, all[i].BucketCounts = slices.Clone(d.Bounds), slices.Clone(d.Counts)
		}
	}
	return all
}

func attributesOf(labels []metrics.Label) attribute.Set {
	all := make([]attribute.KeyValue, len(labels))
	for i, l := range labels {
		all[i] = attribute.String(l.Name, strings.ToValidUTF8(l.Value, "\uFFFD"))
	}
	return attribute.NewSet(all...)
}
