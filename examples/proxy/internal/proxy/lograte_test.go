package proxy

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

func TestAFloodOfLinesIsBoundedAndCounted(t *testing.T) {
	var log conntest.Log
	h := limitLog(&log, 0).(*logLimiter)
	at := time.Unix(1000, 0)
	h.now = func() time.Time { return at }
	l := slog.New(h)
	for range 100 {
		l.Warn("junk")
		l.With("key", 1).Info("other")
	}
	require.Equal(t, 10, log.Count("junk"))
	require.Equal(t, 10, log.Count("other"))
	require.Zero(t, log.Count("dropped"))
	at = at.Add(time.Second)
	l.Warn("junk")
	l.Warn("junk")
	require.Equal(t, 12, log.Count("junk"))
	require.Equal(t, 1, log.Count("dropped=90"))
	require.Same(t, &log, limitLog(&log, -1))
}
