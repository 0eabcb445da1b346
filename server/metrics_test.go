package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/metrics"
	"github.com/suiro-go/suiro/server"
)

// Packages sched, conn and blocking have a test for each family of theirs, which moves it by a
// known amount. A server adds no family.
func TestEachFamilyOfAServerIsOneOfItsGroupOrOfAPool(t *testing.T) {
	s := run(t, &server.Server{Handler: echo{}})
	tested := map[string]bool{}
	for _, f := range metrics.Gather(s.Group(), blocking.New(blocking.Config{})) {
		tested[f.Name] = true
	}
	all := s.Metrics()
	require.Len(t, all, len(tested))
	for _, f := range all {
		require.True(t, tested[f.Name], f.Name)
	}
}
