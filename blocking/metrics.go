package blocking

import "github.com/suiro-go/suiro/metrics"

// Metrics returns the figures of the pool. Any goroutine may call it. To tell the pools of a
// program apart, use metrics.WithLabels.
func (p *Pool) Metrics() []metrics.Family {
	p.mu.Lock()
	threads, busy, idle, queued, calls := p.threads, p.busy, len(p.idle), p.queue.Len(), p.made
	p.mu.Unlock()
	one := func(v float64) []metrics.Sample { return []metrics.Sample{{Value: v}} }
	return []metrics.Family{
		{Name: "suiro.blocking.threads", Unit: "{thread}", Kind: metrics.Gauge, Help: "Goroutines of the pool, by their state.",
			Samples: []metrics.Sample{
				{Labels: state("busy"), Value: float64(busy)},
				{Labels: state("idle"), Value: float64(idle)},
				{Labels: state("searching"), Value: float64(max(0, threads-busy-idle))},
			}},
		{Name: "suiro.blocking.queued_calls", Unit: "{call}", Kind: metrics.Gauge, Help: "Calls that wait for a goroutine.", Samples: one(float64(queued))},
		{Name: "suiro.blocking.calls", Unit: "{call}", Kind: metrics.Counter, Help: "Calls that goroutines of the pool have begun.", Samples: one(float64(calls))},
	}
}

func state(s string) []metrics.Label { return []metrics.Label{{Name: "state", Value: s}} }

var _ metrics.Source = (*Pool)(nil)
