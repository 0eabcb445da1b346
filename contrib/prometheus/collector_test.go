package prometheus_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	suiro "github.com/suiro-go/suiro/contrib/prometheus"
	"github.com/suiro-go/suiro/metrics"
	"github.com/suiro-go/suiro/server"
)

type echo struct{ server.Base }

func (echo) OnData(c *server.Conn) error {
	_, err := c.WriteTo(c)
	return err
}

// run starts an echo server, sends rounds messages through one connection, and leaves that open.
func run(t *testing.T, rounds int) *server.Server {
	t.Helper()
	addr := make(chan net.Addr, 1)
	s := &server.Server{Addr: "127.0.0.1:0", Handler: echo{}, Workers: 2, Listening: func(a net.Addr) { addr <- a }}
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx))
		require.ErrorIs(t, <-served, server.ErrServerClosed)
	})
	c, err := net.Dial("tcp", (<-addr).String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	answer := make([]byte, 5)
	for range rounds {
		_, err = io.WriteString(c, "hello")
		require.NoError(t, err)
		_, err = io.ReadFull(c, answer)
		require.NoError(t, err)
	}
	return s
}

// frozen is a source whose figures stand still, as those of s are now.
func frozen(s metrics.Source) metrics.Source {
	all := s.Metrics()
	return metrics.SourceFunc(func() []metrics.Family { return all })
}

func registryOf(t *testing.T, c client.Collector) *client.Registry {
	t.Helper()
	registry := client.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	return registry
}

func TestARegistryGathersWhatOurTextSays(t *testing.T) {
	source := frozen(run(t, 100))
	var text strings.Builder
	require.NoError(t, metrics.WritePrometheus(&text, metrics.Gather(source)))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	ours, err := parser.TextToMetricFamilies(strings.NewReader(text.String()))
	require.NoError(t, err)

	theirs, err := registryOf(t, suiro.NewCollector(source)).Gather()
	require.NoError(t, err)
	require.Len(t, theirs, len(ours))
	require.Greater(t, len(theirs), 40)
	for _, f := range theirs {
		want := ours[f.GetName()]
		require.NotNil(t, want, f.GetName())
		require.Equal(t, want.GetHelp(), f.GetHelp())
		require.Equal(t, want.GetType(), f.GetType(), f.GetName())
		values := map[string]bool{}
		for _, m := range want.GetMetric() {
			values[value(m)] = true
		}
		require.Len(t, f.GetMetric(), len(values), f.GetName())
		for _, m := range f.GetMetric() {
			require.Contains(t, values, value(m), f.GetName())
		}
	}
}

func TestTheFiguresAreThoseOfTheScrape(t *testing.T) {
	s := run(t, 100)
	c := suiro.NewCollector(s)
	registry := registryOf(t, c)
	received := func() float64 {
		all, err := registry.Gather()
		require.NoError(t, err)
		for _, f := range all {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if f.GetName() == "suiro_network_io_bytes_total" && l.GetName() == "network_io_direction" && l.GetValue() == "receive" {
						return m.GetCounter().GetValue()
					}
				}
			}
		}
		t.Fatal("there is no such family")
		return 0
	}
	require.EqualValues(t, 500, received())
	conn, err := net.Dial("tcp", s.Addrs()[0].String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write(make([]byte, 64))
	require.NoError(t, err)
	_, err = io.ReadFull(conn, make([]byte, 64))
	require.NoError(t, err)
	require.EqualValues(t, 564, received())
}

func TestPrometheusIsContentWithTheNames(t *testing.T) {
	registry := registryOf(t, suiro.NewCollector(frozen(run(t, 1))))
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
	page := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, 200, page.Code)
	require.Contains(t, page.Body.String(), "\nsuiro_accepted_connections_total{")
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool here")
	}
	tool := exec.Command(path, "check", "metrics")
	tool.Stdin = page.Body
	out, err := tool.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Empty(t, string(out))
}

func TestOddSamples(t *testing.T) {
	source := metrics.SourceFunc(func() []metrics.Family {
		return []metrics.Family{
			{Name: "suiro.path", Help: "A path of bytes.", Samples: []metrics.Sample{
				{Value: 1, Labels: []metrics.Label{{Name: "server.address", Value: "/run/\xff"}}},
				{Value: 2}, // has no label
			}},
			{Name: "suiro.wait", Unit: "s", Help: "Has no values.", Kind: metrics.Histogram, Samples: []metrics.Sample{{}}},
			{Name: "suiro.none", Help: "Has no samples.", Kind: metrics.Counter},
		}
	})
	require.NoError(t, testutil.CollectAndCompare(suiro.NewCollector(source), strings.NewReader(`
# HELP suiro_path A path of bytes.
# TYPE suiro_path gauge
suiro_path 2
suiro_path{server_address="/run/�"} 1
# HELP suiro_wait_seconds Has no values.
# TYPE suiro_wait_seconds histogram
suiro_wait_seconds_bucket{le="+Inf"} 0
suiro_wait_seconds_sum 0
suiro_wait_seconds_count 0
`)))
	twice := metrics.SourceFunc(func() []metrics.Family {
		same := []metrics.Label{{Name: "a.b", Value: "1"}, {Name: "a_b", Value: "2"}}
		return []metrics.Family{{Name: "suiro.twice", Help: "A label twice.", Samples: []metrics.Sample{{Labels: same}}}}
	})
	_, err := registryOf(t, suiro.NewCollector(twice)).Gather()
	require.ErrorContains(t, err, "suiro_twice")
}

func TestSourcesAreAddedOrToldApart(t *testing.T) {
	source := metrics.SourceFunc(func() []metrics.Family {
		return []metrics.Family{{Name: "suiro.calls", Help: "Calls.", Kind: metrics.Counter, Samples: []metrics.Sample{{Value: 3}}}}
	})
	pool := func(name string) metrics.Source {
		return metrics.WithLabels(source, metrics.Label{Name: "pool", Value: name})
	}
	require.NoError(t, testutil.CollectAndCompare(suiro.NewCollector(source, source, pool("a"), pool("b")), strings.NewReader(`
# HELP suiro_calls_total Calls.
# TYPE suiro_calls_total counter
suiro_calls_total 6
suiro_calls_total{pool="a"} 3
suiro_calls_total{pool="b"} 3
`)))
}

func ExampleNewCollector() {
	s := &server.Server{Addr: "127.0.0.1:0", Handler: echo{}}
	s.Listening = func(net.Addr) { _ = s.Close() }
	registry := client.NewRegistry()
	registry.MustRegister(suiro.NewCollector(s))
	http.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	fmt.Println(s.ListenAndServe())
	// Output: server: closed by Shutdown or Close
}

// value is the text of a metric, whatever the order of its labels.
func value(m *dto.Metric) string {
	var labels []string
	for _, l := range m.GetLabel() {
		labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	slices.Sort(labels)
	text := fmt.Sprint(labels, m.GetGauge().GetValue(), m.GetCounter().GetValue())
	if h := m.GetHistogram(); h != nil {
		text += fmt.Sprint(h.GetSampleCount(), h.GetSampleSum())
		for _, b := range h.GetBucket() {
			if !math.IsInf(b.GetUpperBound(), 1) { // the client adds that later
				text += fmt.Sprint(" ", b.GetUpperBound(), b.GetCumulativeCount())
			}
		}
	}
	return text
}
