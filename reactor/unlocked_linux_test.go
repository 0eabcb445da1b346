package reactor_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

func TestUnlockedMeansEpoll(t *testing.T) {
	t.Setenv(reactor.EnvBackend, "")
	cfg, err := reactor.Select(reactor.Config{Unlocked: true}, nil)
	require.NoError(t, err)
	require.Equal(t, "epoll", cfg.Backend)
	_, err = reactor.Select(reactor.Config{Unlocked: true, Backend: "io_uring"}, nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}
