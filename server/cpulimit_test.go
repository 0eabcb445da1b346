package server_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

func TestALimitBelowGOMAXPROCSIsWarnedOf(t *testing.T) {
	for _, c := range []struct {
		procs int
		cpus  float64
		warns bool
	}{
		{2, 0.5, false}, {3, 0.5, true}, // Go rounds up, to 2 at least
		{2, 1.5, false}, {4, 3.2, false}, {4, 4, false}, {5, 4, true}, {8, 2.5, true},
	} {
		var log conntest.Log
		server.WarnAbove(log.Logger(), c.procs, c.cpus)
		require.Equal(t, c.warns, log.String() != "", "%v", c)
	}
}

// Go has set GOMAXPROCS by the container's limit before a program begins.
func TestTheNumberOfWorkersIsGOMAXPROCS(t *testing.T) {
	before := runtime.GOMAXPROCS(3)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) }) // after the server's end
	s := run(t, &server.Server{Handler: echo{}})
	require.Equal(t, 3, s.Group().Runtime().Workers())
}
