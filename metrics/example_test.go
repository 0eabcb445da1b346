package metrics_test

import (
	"fmt"
	"os"

	"github.com/suiro-go/suiro/metrics"
)

// A program adds figures of its own to those of its servers. A label tells two sources apart.
func ExampleSourceFunc() {
	logins := metrics.SourceFunc(func() []metrics.Family {
		return []metrics.Family{{
			Name: "example.logins", Help: "Successful logins.", Unit: "{login}", Kind: metrics.Counter,
			Samples: []metrics.Sample{{Value: 42}},
		}}
	})
	// http.Handle("/metrics", metrics.Handler(s, logins)) serves them, with those of the server s.
	labeled := metrics.WithLabels(logins, metrics.Label{Name: "site", Value: "north"})
	if err := metrics.WriteOpenMetrics(os.Stdout, metrics.Gather(labeled)); err != nil {
		fmt.Println(err)
	}
	// Output:
	// # HELP example_logins Successful logins.
	// # TYPE example_logins counter
	// example_logins_total{site="north"} 42
	// # EOF
}
