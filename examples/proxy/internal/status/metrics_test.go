package status

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/examples/proxy/internal/upstream"
)

// A family without a line here fails the test. That the counts of a Snapshot are right is shown in
// package proxy, where they are counted.
func TestEachFamilyOfAProxyMovesByAKnownAmount(t *testing.T) {
	moved := map[string]struct {
		by float64
		do func(s *Snapshot, r *Route, u *upstream.State)
	}{
		"suiro.proxy.active_connections": {2, func(_ *Snapshot, r *Route, _ *upstream.State) { r.Active += 2 }},
		"suiro.proxy.connections":        {3, func(_ *Snapshot, r *Route, _ *upstream.State) { r.Accepted += 3 }},
		"suiro.proxy.refused":            {4, func(_ *Snapshot, r *Route, _ *upstream.State) { r.Refused += 4 }},
		"suiro.proxy.failed":             {5, func(_ *Snapshot, r *Route, _ *upstream.State) { r.Failed += 5 }},
		"suiro.proxy.broken":             {6, func(_ *Snapshot, r *Route, _ *upstream.State) { r.Broken += 6 }},
		"suiro.proxy.retries":            {7, func(_ *Snapshot, r *Route, _ *upstream.State) { r.Retried += 7 }},
		"suiro.proxy.requests":           {8, func(_ *Snapshot, r *Route, _ *upstream.State) { r.Requests += 8 }},
		"suiro.proxy.datagrams_dropped":  {9, func(_ *Snapshot, r *Route, _ *upstream.State) { r.Dropped += 9 }},
		"suiro.proxy.sessions_evicted":   {10, func(_ *Snapshot, r *Route, _ *upstream.State) { r.Evicted += 10 }},
		"suiro.proxy.received":           {11, func(_ *Snapshot, r *Route, _ *upstream.State) { r.In += 11 }},
		"suiro.proxy.sent":               {12, func(_ *Snapshot, r *Route, _ *upstream.State) { r.Out += 12 }},

		"suiro.proxy.upstream_healthy":            {1, func(_ *Snapshot, _ *Route, u *upstream.State) { u.Healthy = true }},
		"suiro.proxy.upstream_active_connections": {13, func(_ *Snapshot, _ *Route, u *upstream.State) { u.Active += 13 }},
		"suiro.proxy.upstream_connections":        {14, func(_ *Snapshot, _ *Route, u *upstream.State) { u.Opened += 14 }},
		"suiro.proxy.upstream_failures":           {15, func(_ *Snapshot, _ *Route, u *upstream.State) { u.Failures += 15 }},

		"suiro.proxy.client_connections": {16, func(s *Snapshot, _ *Route, _ *upstream.State) { s.Clients += 16 }},
		"suiro.proxy.refused_clients":    {17 + 18, func(s *Snapshot, _ *Route, _ *upstream.State) { s.OverAll, s.OverSource = 17, 18 }},
		"suiro.proxy.junk_connections":   {19, func(s *Snapshot, _ *Route, _ *upstream.State) { s.Junk += 19 }},
		"suiro.proxy.start_time":         {20, func(s *Snapshot, _ *Route, _ *upstream.State) { s.Started = s.Started.Add(20 * time.Second) }},
		"suiro.proxy.goroutines":         {21, func(s *Snapshot, _ *Route, _ *upstream.State) { s.Goroutines += 21 }},
		"suiro.proxy.open_fds":           {22, func(s *Snapshot, _ *Route, _ *upstream.State) { s.Descriptors += 22 }},
		"suiro.proxy.heap":               {23, func(s *Snapshot, _ *Route, _ *upstream.State) { s.Heap += 23 }},
	}
	values := func(s *Snapshot) map[string]float64 {
		all := map[string]float64{}
		for _, f := range s.Metrics() {
			require.NotContains(t, all, f.Name)
			all[f.Name] = 0
			for _, sample := range f.Samples {
				all[f.Name] += sample.Value
			}
		}
		return all
	}
	snapshot := func() *Snapshot {
		return &Snapshot{Started: time.Unix(1000, 0), Routes: []Route{{Name: "a", Upstreams: make([]upstream.State, 1)}}}
	}
	before := values(snapshot())
	require.Len(t, moved, len(before))
	for name := range before {
		m, ok := moved[name]
		require.True(t, ok, "no test moves %s by a known amount", name)
		s := snapshot()
		m.do(s, &s.Routes[0], &s.Routes[0].Upstreams[0])
		for other, v := range values(s) {
			if other == name {
				require.Equal(t, m.by, v-before[name], name)
			} else {
				require.Equal(t, before[other], v, "%s moves %s", name, other)
			}
		}
	}
}
