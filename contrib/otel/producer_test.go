package otel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/suiro-go/suiro/contrib/otel"
	"github.com/suiro-go/suiro/metrics"
	"github.com/suiro-go/suiro/server"
)

// frozen is a source whose figures stand still, as those of s are now.
func frozen(s metrics.Source) metrics.Source {
	all := metrics.Gather(s)
	return metrics.SourceFunc(func() []metrics.Family { return all })
}

// export sends the figures of a source to the receiver, once, by the SDK's exporter.
func export(t *testing.T, r *receiver, source metrics.Source) []*metricpb.Metric {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	exporter, err := otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpoint(r.addr), otlpmetricgrpc.WithInsecure())
	require.NoError(t, err)
	reader := metric.NewPeriodicReader(exporter, metric.WithInterval(time.Hour), metric.WithProducer(otel.NewProducer(source)))
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	require.NoError(t, provider.ForceFlush(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Len(t, r.metrics, 1)
	require.Equal(t, "github.com/suiro-go/suiro", r.metrics[0].GetScope().GetName())
	all := r.metrics[0].GetMetrics()
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	return all
}

func attributesOf(all []*commonpb.KeyValue) string {
	var pairs []string
	for _, a := range all {
		pairs = append(pairs, fmt.Sprintf("%s=%q", a.GetKey(), a.GetValue().GetStringValue()))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, " ")
}

func labelsOf(all []metrics.Label) string {
	var pairs []string
	for _, l := range all {
		pairs = append(pairs, fmt.Sprintf("%s=%q", l.Name, l.Value))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, " ")
}

func TestAReceiverOfOTLPGetsAllFigures(t *testing.T) {
	s := &server.Server{Handler: echo{}}
	addr, _ := run(t, s)
	c := dial(t, addr)
	for range 50 {
		say(t, c, "hello")
	}
	source := frozen(s)
	got := map[string]*metricpb.Metric{}
	for _, m := range export(t, receive(t), source) {
		require.NotContains(t, got, m.GetName())
		got[m.GetName()] = m
	}
	families := 0
	for _, f := range source.Metrics() {
		if len(f.Samples) == 0 {
			require.NotContains(t, got, f.Name)
			continue
		}
		families++
		m := got[f.Name]
		require.NotNil(t, m, f.Name)
		require.Equal(t, f.Help, m.GetDescription())
		require.Equal(t, f.Unit, m.GetUnit())
		var points []*metricpb.NumberDataPoint
		switch f.Kind {
		case metrics.Gauge:
			points = m.GetGauge().GetDataPoints()
		case metrics.Counter:
			require.True(t, m.GetSum().GetIsMonotonic())
			require.Equal(t, metricpb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE, m.GetSum().GetAggregationTemporality())
			points = m.GetSum().GetDataPoints()
		case metrics.Histogram:
			require.Len(t, m.GetHistogram().GetDataPoints(), len(f.Samples))
			for i, p := range m.GetHistogram().GetDataPoints() {
				d := f.Samples[i].Distribution
				require.Equal(t, labelsOf(f.Samples[i].Labels), attributesOf(p.GetAttributes()))
				require.Equal(t, d.Count, p.GetCount())
				require.Equal(t, d.Sum, p.GetSum())
				require.Equal(t, d.Bounds, p.GetExplicitBounds())
				require.Equal(t, d.Counts, p.GetBucketCounts())
			}
			continue
		}
		require.Len(t, points, len(f.Samples), f.Name)
		for i, p := range points {
			require.Equal(t, labelsOf(f.Samples[i].Labels), attributesOf(p.GetAttributes()))
			require.Equal(t, f.Samples[i].Value, p.GetAsDouble(), f.Name)
			require.LessOrEqual(t, p.GetStartTimeUnixNano(), p.GetTimeUnixNano())
		}
	}
	require.Len(t, got, families)
	require.Greater(t, families, 40)
}

func TestEachCollectionReadsAnew(t *testing.T) {
	s := &server.Server{Handler: echo{}}
	reader := metric.NewManualReader(metric.WithProducer(otel.NewProducer(s)))
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	defer func() { _ = provider.Shutdown(context.Background()) }()
	received := func() float64 {
		var all metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(context.Background(), &all))
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				if m.Name != "suiro.network.io" {
					continue
				}
				for _, p := range m.Data.(metricdata.Sum[float64]).DataPoints {
					if way, _ := p.Attributes.Value("network.io.direction"); way.AsString() == "receive" {
						return p.Value
					}
				}
			}
		}
		return -1
	}
	require.EqualValues(t, -1, received(), "the server does not serve yet")
	addr, _ := run(t, s)
	c := dial(t, addr)
	say(t, c, "hello")
	require.EqualValues(t, 6, received())
	say(t, c, "again")
	require.EqualValues(t, 12, received())
}

func TestASampleWithoutAValueAndBadText(t *testing.T) {
	source := metrics.SourceFunc(func() []metrics.Family {
		return []metrics.Family{
			{Name: "suiro.wait", Unit: "s", Kind: metrics.Histogram, Samples: []metrics.Sample{{}}},
			{Name: "suiro.path", Samples: []metrics.Sample{{Value: 1, Labels: []metrics.Label{{Name: "server.address", Value: "/run/\xff"}}}}},
		}
	})
	all := export(t, receive(t), source)
	require.Len(t, all, 2)
	require.Zero(t, all[0].GetHistogram().GetDataPoints()[0].GetCount())
	require.Equal(t, `server.address="/run/�"`, attributesOf(all[1].GetGauge().GetDataPoints()[0].GetAttributes()))
}
