package metrics_test

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/metrics"
)

func labels(pairs ...string) (all []metrics.Label) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, metrics.Label{Name: pairs[i], Value: pairs[i+1]})
	}
	return all
}

var everything = []metrics.Family{
	{Name: "suiro.active_connections", Unit: "{connection}", Help: "Open connections.", Kind: metrics.Gauge, Samples: []metrics.Sample{
		{Labels: labels("server.address", "::1", "server.port", "80"), Value: 7},
		{Labels: labels("server.address", "/run/a \"b\\c\nd", "server.port", ""), Value: 0.25},
	}},
	{Name: "suiro.network.io", Unit: "By", Help: "Bytes, \"all\" of them\\.", Kind: metrics.Counter, Samples: []metrics.Sample{{Value: 1 << 52}}},
	{Name: "suiro.worker.utilization", Unit: "1", Help: "Share.", Kind: metrics.Gauge, Samples: []metrics.Sample{{Value: 0.5}}},
	{Name: "suiro.connection.duration", Unit: "s", Help: "Lives.", Kind: metrics.Histogram, Samples: []metrics.Sample{{
		Labels:       labels("error.type", "reset"),
		Distribution: &metrics.Distribution{Count: 6, Sum: 3.5, Bounds: []float64{0.001, 1}, Counts: []uint64{1, 2, 3}},
	}}},
	{Name: "suiro.empty", Help: "There is none.", Kind: metrics.Gauge},
}

const openMetrics = `# HELP suiro_active_connections Open connections.
# TYPE suiro_active_connections gauge
suiro_active_connections{server_address="::1",server_port="80"} 7
suiro_active_connections{server_address="/run/a \"b\\c\nd",server_port=""} 0.25
# HELP suiro_network_io_bytes Bytes, \"all\" of them\\.
# TYPE suiro_network_io_bytes counter
# UNIT suiro_network_io_bytes bytes
suiro_network_io_bytes_total 4503599627370496
# HELP suiro_worker_utilization_ratio Share.
# TYPE suiro_worker_utilization_ratio gauge
# UNIT suiro_worker_utilization_ratio ratio
suiro_worker_utilization_ratio 0.5
# HELP suiro_connection_duration_seconds Lives.
# TYPE suiro_connection_duration_seconds histogram
# UNIT suiro_connection_duration_seconds seconds
suiro_connection_duration_seconds_bucket{error_type="reset",le="0.001"} 1
suiro_connection_duration_seconds_bucket{error_type="reset",le="1.0"} 3
suiro_connection_duration_seconds_bucket{error_type="reset",le="+Inf"} 6
suiro_connection_duration_seconds_sum{error_type="reset"} 3.5
suiro_connection_duration_seconds_count{error_type="reset"} 6
# EOF
`

func TestTheTextOfOpenMetrics(t *testing.T) {
	var b strings.Builder
	require.NoError(t, metrics.WriteOpenMetrics(&b, everything))
	require.Equal(t, openMetrics, b.String())
}

func TestTheTextOfPrometheus(t *testing.T) {
	var b strings.Builder
	require.NoError(t, metrics.WritePrometheus(&b, everything))
	want := strings.NewReplacer(
		"# EOF\n", "", `\"all\" of`, `"all" of`, "# HELP suiro_network_io_bytes ", "# HELP suiro_network_io_bytes_total ",
		"# TYPE suiro_network_io_bytes ", "# TYPE suiro_network_io_bytes_total ",
		"# UNIT suiro_network_io_bytes bytes\n", "", "# UNIT suiro_worker_utilization_ratio ratio\n", "", "# UNIT suiro_connection_duration_seconds seconds\n", "",
	).Replace(openMetrics)
	require.Equal(t, want, b.String())
	promtool(t, b.String())
}

// promtool is Prometheus' own opinion, where Debian's package prometheus is installed.
func promtool(t *testing.T, text string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool here")
	}
	cmd := exec.Command(path, "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Empty(t, string(out))
}

func TestNamesOfPrometheus(t *testing.T) {
	for _, c := range []struct {
		family metrics.Family
		name   string
	}{
		{metrics.Family{Name: "a.b-c d", Kind: metrics.Gauge}, "a_b_c_d"},
		{metrics.Family{Name: "9lives", Kind: metrics.Gauge}, "_9lives"},
		{metrics.Family{Name: "é", Kind: metrics.Gauge}, "_"},
		{metrics.Family{Name: "", Kind: metrics.Gauge}, "_"},
		{metrics.Family{Name: "a:b", Unit: "By", Kind: metrics.Gauge}, "a:b_bytes"},
		{metrics.Family{Name: "wait.seconds", Unit: "s", Kind: metrics.Counter}, "wait_seconds_total"},
		{metrics.Family{Name: "runs", Unit: "{run}", Kind: metrics.Counter}, "runs_total"},
		{metrics.Family{Name: "hits", Unit: "1", Kind: metrics.Counter}, "hits_total"},
		{metrics.Family{Name: "hits", Unit: "1", Kind: metrics.Gauge}, "hits_ratio"},
	} {
		require.Equal(t, c.name, metrics.PrometheusName(&c.family))
	}
	require.Equal(t, "server_address", metrics.LabelName("server.address"))
	require.Equal(t, "a_b", metrics.LabelName("a:b"))
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAWriterThatFailsIsReported(t *testing.T) {
	require.ErrorIs(t, metrics.WriteOpenMetrics(failing{}, everything), io.ErrClosedPipe)
	require.ErrorIs(t, metrics.WritePrometheus(failing{}, everything), io.ErrClosedPipe)
}

func of(f ...metrics.Family) metrics.Source {
	return metrics.SourceFunc(func() []metrics.Family { return f })
}

func TestSamplesWithEqualLabelsAreAdded(t *testing.T) {
	gauge := func(v float64, l ...string) metrics.Family {
		return metrics.Family{Name: "g", Samples: []metrics.Sample{{Labels: labels(l...), Value: v}}}
	}
	histogram := func(first, last uint64, bins ...metrics.Bin) metrics.Family {
		return metrics.Family{Name: "h", Kind: metrics.Histogram, Samples: []metrics.Sample{{Distribution: &metrics.Distribution{
			Count: first + last, Sum: float64(last), Bounds: []float64{1}, Counts: []uint64{first, last}, Bins: bins,
		}}}}
	}
	a, b := gauge(1, "x", "1"), histogram(1, 2, metrics.Bin{Value: 1, Count: 1}, metrics.Bin{Value: 5, Count: 2})
	all := metrics.Gather(of(a, b), of(histogram(3, 4, metrics.Bin{Value: 2, Count: 3}, metrics.Bin{Value: 5, Count: 4}), gauge(2, "x", "1")), of(gauge(4, "x", "2")))
	require.Len(t, all, 2)
	require.Equal(t, []metrics.Sample{{Labels: labels("x", "1"), Value: 3}, {Labels: labels("x", "2"), Value: 4}}, all[0].Samples)
	require.Equal(t, &metrics.Distribution{Count: 10, Sum: 6, Bounds: []float64{1}, Counts: []uint64{4, 6},
		Bins: []metrics.Bin{{Value: 1, Count: 1}, {Value: 2, Count: 3}, {Value: 5, Count: 6}}}, all[1].Samples[0].Distribution)
	require.Equal(t, gauge(1, "x", "1"), a, "what a source returned is unchanged")
	require.EqualValues(t, 3, b.Samples[0].Distribution.Count)
}

func TestLabelsKeepSourcesApart(t *testing.T) {
	f := metrics.Family{Name: "g", Samples: []metrics.Sample{{Labels: labels("x", "1"), Value: 1}}}
	all := metrics.Gather(of(f), metrics.WithLabels(of(f), metrics.Label{Name: "pool", Value: "b"}))
	require.Equal(t, []metrics.Sample{{Labels: labels("x", "1"), Value: 1}, {Labels: labels("pool", "b", "x", "1"), Value: 1}}, all[0].Samples)
	require.Len(t, f.Samples[0].Labels, 1)
}

func TestQuantiles(t *testing.T) {
	coarse := &metrics.Distribution{Count: 10, Bounds: []float64{1, 2}, Counts: []uint64{5, 4, 1}}
	require.EqualValues(t, 1, coarse.Quantile(0))
	require.EqualValues(t, 1, coarse.Quantile(0.5))
	require.EqualValues(t, 2, coarse.Quantile(0.9))
	require.True(t, math.IsInf(coarse.Quantile(1), 1))
	fine := &metrics.Distribution{Count: 10, Bounds: []float64{1, 2}, Counts: []uint64{5, 4, 1},
		Bins: []metrics.Bin{{Value: 0.5, Count: 5}, {Value: 1.5, Count: 4}, {Value: 7, Count: 1}}}
	require.Equal(t, 0.5, fine.Quantile(0.5))
	require.Equal(t, 1.5, fine.Quantile(0.6))
	require.EqualValues(t, 7, fine.Quantile(1))
	require.True(t, math.IsNaN(new(metrics.Distribution).Quantile(0.5)))
}

func TestTheHandlerServesWhatTheReaderAccepts(t *testing.T) {
	s := httptest.NewServer(metrics.Handler(of(everything...)))
	defer s.Close()
	get := func(method, accept string) (*http.Response, string) {
		r, err := http.NewRequest(method, s.URL, nil)
		require.NoError(t, err)
		r.Header.Set("Accept", accept)
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res, string(text)
	}
	res, text := get("GET", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
	require.Equal(t, metrics.OpenMetricsType, res.Header.Get("Content-Type"))
	require.Equal(t, openMetrics, text)
	res, text = get("GET", "*/*")
	require.Equal(t, metrics.PrometheusType, res.Header.Get("Content-Type"))
	require.NotContains(t, text, "# EOF")
	res, text = get("HEAD", "")
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Empty(t, text)
	res, _ = get("POST", "")
	require.Equal(t, http.StatusMethodNotAllowed, res.StatusCode)
	require.Equal(t, "GET, HEAD", res.Header.Get("Allow"))
}
