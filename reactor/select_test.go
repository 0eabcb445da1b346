package reactor_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/reactor/internal/reactortest"
)

// logged is a log and what it has been told.
func logged() (*slog.Logger, *bytes.Buffer) {
	var text bytes.Buffer
	return slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug})), &text
}

func TestUnknownBackend(t *testing.T) {
	for _, open := range []func(reactor.Config) error{
		func(cfg reactor.Config) error { _, err := reactor.Select(cfg, nil); return err },
		func(cfg reactor.Config) error { _, err := reactor.Open(cfg); return err },
	} {
		err := open(reactor.Config{Backend: "carrier-pigeon"})
		require.ErrorIs(t, err, errors.ErrUnsupported)
		var unknown *reactor.UnknownBackendError
		require.ErrorAs(t, err, &unknown)
		require.Equal(t, "carrier-pigeon", unknown.Name)
		require.NotContains(t, err.Error(), "\n")
		for _, name := range reactor.Backends() {
			require.ErrorContains(t, err, name)
		}
	}
}

func TestInvalidConfig(t *testing.T) {
	for want, cfg := range map[string]reactor.Config{
		"Entries is -1":       {Entries: -1},
		"Entries is 32769":    {Entries: 32769},
		"Buffers is -4":       {Buffers: -4},
		"Buffers is 3":        {Buffers: 3},
		"Buffers is 65536":    {Buffers: 65536},
		"BufferSize is -1":    {BufferSize: -1},
		"BufferSize is 63":    {BufferSize: 63},
		"16777217; use 64 to": {BufferSize: 1<<24 + 1},
	} {
		_, err := reactor.Select(cfg, nil)
		require.ErrorContains(t, err, want)
		_, err = reactor.Open(cfg)
		require.ErrorContains(t, err, want)
	}
}

func TestEveryBackendCanBeForced(t *testing.T) {
	for _, b := range reactortest.Complete(t) {
		t.Run(b.Name, func(t *testing.T) {
			log, text := logged()
			cfg, err := reactor.Select(reactor.Config{Backend: b.Name}, log)
			require.NoError(t, err)
			require.Equal(t, b.Name, cfg.Backend)
			require.Contains(t, text.String(), "backend="+b.Name)
			require.Contains(t, text.String(), "forced=true")
			require.NotContains(t, text.String(), "WARN")
			requireOpens(t, cfg, b.Name)
		})
		t.Run(b.Name+" by the environment", func(t *testing.T) {
			t.Setenv(reactor.EnvBackend, b.Name)
			requireOpens(t, reactor.Config{}, b.Name)
		})
		t.Run(b.Name+" against the environment", func(t *testing.T) {
			t.Setenv(reactor.EnvBackend, "carrier-pigeon")
			requireOpens(t, reactor.Config{Backend: b.Name}, b.Name)
			_, err := reactor.Open(reactor.Config{})
			require.ErrorContains(t, err, "carrier-pigeon")
		})
	}
}

func TestSelectFillsInDefaults(t *testing.T) {
	if len(reactor.Backends()) == 0 {
		t.Skip("no backend for this platform yet")
	}
	t.Setenv(reactor.EnvBackend, "")
	cfg, err := reactor.Select(reactor.Config{}, nil)
	require.NoError(t, err)
	require.Contains(t, reactor.Backends(), cfg.Backend)
	require.Equal(t, []int{1024, 32, 64 << 10}, []int{cfg.Entries, cfg.Buffers, cfg.BufferSize})
	t.Setenv(reactor.EnvBackend, "carrier-pigeon")
	requireOpens(t, cfg, cfg.Backend) // a selected configuration stays as it is
}

func TestUnknownFeature(t *testing.T) {
	if !slices.ContainsFunc(reactortest.Complete(t), func(b reactortest.Backend) bool { return b.Name == "io_uring" }) {
		t.Skip("io_uring does not start here")
	}
	_, err := reactor.Select(reactor.Config{Backend: "io_uring", Without: []reactor.Feature{"teleport"}}, nil)
	require.ErrorContains(t, err, `unknown feature "teleport"`)
}

// Features that Select finds missing must not end up in the caller's list.
func TestSelectLeavesTheCallersList(t *testing.T) {
	mine := make([]reactor.Feature, 1, 10)
	mine[0] = reactor.FeatureIncremental
	_, err := reactor.Select(reactor.Config{Without: mine}, nil)
	if err != nil {
		t.Skip(err)
	}
	require.Empty(t, mine[:2][1])
}

func requireOpens(t *testing.T, cfg reactor.Config, name string) {
	t.Helper()
	r, err := reactor.Open(cfg)
	require.NoError(t, err)
	require.Equal(t, name, r.Name())
	require.NoError(t, r.Close())
}
