package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/server"
)

func TestCoalesceMeansEpollUnlessABackendIsForced(t *testing.T) {
	t.Setenv(reactor.EnvBackend, "")
	s := run(t, &server.Server{Handler: echo{}, Tuning: server.Tuning{Coalesce: time.Millisecond}})
	require.Equal(t, "epoll", s.Group().Backend())
	require.NoError(t, s.Shutdown(t.Context()))

	odd := &server.Server{Handler: echo{}, Tuning: server.Tuning{Coalesce: time.Second}}
	require.ErrorContains(t, odd.ListenAndServe(), "Coalesce is 1s; use 0 to 1ms")
}
