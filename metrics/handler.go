package metrics

import (
	"net/http"
	"strings"
)

// Handler serves the figures of all sources, gathered anew for each request. Readers that accept
// OpenMetrics get that, others Prometheus's older text. It answers GET and HEAD alone.
func Handler(sources ...Source) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "use GET", http.StatusMethodNotAllowed)
			return
		}
		write, kind := WritePrometheus, PrometheusType
		if strings.Contains(r.Header.Get("Accept"), "application/openmetrics-text") {
			write, kind = WriteOpenMetrics, OpenMetricsType
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-store")
		if r.Method == http.MethodGet {
			_ = write(w, Gather(sources...)) // the client has gone
		}
	})
}
