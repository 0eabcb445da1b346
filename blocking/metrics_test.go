package blocking_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
)

// figures are the values of a pool's families, by name and state.
func figures(p *blocking.Pool) map[string]float64 {
	all := map[string]float64{}
	for _, f := range p.Metrics() {
		for _, s := range f.Samples {
			name := f.Name
			for _, l := range s.Labels {
				name += " " + l.Value
			}
			all[name] = s.Value
		}
	}
	return all
}

func TestCallsMoveTheFiguresOfAPool(t *testing.T) {
	p := newPool(t, blocking.Config{MaxThreads: 2})
	require.Equal(t, map[string]float64{
		"suiro.blocking.threads busy": 0, "suiro.blocking.threads idle": 0, "suiro.blocking.threads searching": 0,
		"suiro.blocking.queued_calls": 0, "suiro.blocking.calls": 0,
	}, figures(p))
	g := newGate(t, 5)
	var handles []*blocking.Handle[int]
	for range 5 {
		handles = append(handles, blocking.Submit(p, g.pass))
	}
	for range 2 {
		receive(t, "a call starts", g.entered)
	}
	require.Equal(t, map[string]float64{
		"suiro.blocking.threads busy": 2, "suiro.blocking.threads idle": 0, "suiro.blocking.threads searching": 0,
		"suiro.blocking.queued_calls": 3, "suiro.blocking.calls": 2,
	}, figures(p))
	g.release()
	for _, h := range handles {
		_, err := result(t, h)
		require.NoError(t, err)
	}
	eventually(t, "all are idle", func() bool { return figures(p)["suiro.blocking.threads idle"] == 2 })
	require.Equal(t, map[string]float64{
		"suiro.blocking.threads busy": 0, "suiro.blocking.threads idle": 2, "suiro.blocking.threads searching": 0,
		"suiro.blocking.queued_calls": 0, "suiro.blocking.calls": 5,
	}, figures(p))
}
