// Package prometheus gives the figures of servers to the official client of Prometheus, for
// programs that have a registry:
//
//	registry.MustRegister(suiro.NewCollector(server))
//
// Names, labels and values are those of the text that package metrics writes. A program without a
// registry needs no client: package admin serves /metrics by itself.
package prometheus

import (
	"strings"

	client "github.com/prometheus/client_golang/prometheus"

	"github.com/suiro-go/suiro/metrics"
)

// A Collector is a client.Collector that reads sources anew for each scrape. Any goroutine may call
// its methods. To read the figures stops no worker.
type Collector struct{ sources []metrics.Source }

var _ client.Collector = (*Collector)(nil)

// NewCollector returns a Collector of sources: a *server.Server, a *conn.Group, a *sched.Runtime,
// a *blocking.Pool. Samples with equal names and labels are added, as metrics.Gather does. Give
// sources that must stay apart labels of their own by metrics.WithLabels, and do not register two
// Collectors of one source.
func NewCollector(sources ...metrics.Source) *Collector { return &Collector{sources} }

// Describe sends nothing: workers, listeners and errors appear while the server runs, so the names
// and labels are not known before. The client calls such a Collector unchecked.
func (c *Collector) Describe(chan<- *client.Desc) {}

// Collect sends the figures of now. A sample that the client refuses becomes an error of the
// scrape.
func (c *Collector) Collect(to chan<- client.Metric) {
	for _, f := range metrics.Gather(c.sources...) {
		name := metrics.PrometheusName(&f)
		for i := range f.Samples {
			to <- metricOf(name, &f, &f.Samples[i])
		}
	}
}

func metricOf(name string, f *metrics.Family, s *metrics.Sample) client.Metric {
	names, values := make([]string, len(s.Labels)), make([]string, len(s.Labels))
	for i, l := range s.Labels {
		names[i], values[i] = metrics.LabelName(l.Name), strings.ToValidUTF8(l.Value, "\uFFFD")
	}
	desc := client.NewDesc(name, f.Help, names, nil)
	m, err := constOf(desc, f.Kind, s, values)
	if err != nil {
		return client.NewInvalidMetric(desc, err)
	}
	return m
}

func constOf(desc *client.Desc, kind metrics.Kind, s *metrics.Sample, values []string) (client.Metric, error) {
	switch d := s.Distribution; {
	case kind == metrics.Counter:
		return client.NewConstMetric(desc, client.CounterValue, s.Value, values...)
	case kind != metrics.Histogram:
		return client.NewConstMetric(desc, client.GaugeValue, s.Value, values...)
	case d == nil: // no value yet
		return client.NewConstHistogram(desc, 0, 0, nil, values...)
	default:
		below, buckets := uint64(0), make(map[float64]uint64, len(d.Bounds))
		for i, bound := range d.Bounds {
			below += d.Counts[i]
			buckets[bound] = below
		}
		return client.NewConstHistogram(desc, d.Count, d.Sum, buckets, values...)
	}
}
