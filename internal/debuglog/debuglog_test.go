package debuglog

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnAreaThatIsAskedForHasALogger(t *testing.T) {
	var ours, theirs strings.Builder
	quiet := slog.New(slog.NewTextHandler(&theirs, nil))
	loud := slog.New(slog.NewTextHandler(&theirs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	t.Setenv(Variable, "")
	for _, area := range areas {
		require.Nil(t, choose(area, loud, &ours))
	}
	t.Setenv(Variable, "io, conn")
	require.Nil(t, choose(Sched, loud, &ours))
	require.Same(t, loud, choose(IO, loud, &ours))
	for _, to := range []*slog.Logger{quiet, nil} {
		choose(Conn, to, &ours).Debug("told")
	}
	require.Equal(t, 2, strings.Count(ours.String(), "level=DEBUG msg=told\n"))
	require.Empty(t, theirs.String())
}

func TestAnUnknownWordIsNamed(t *testing.T) {
	t.Setenv(Variable, "sched,io,conn,labels")
	require.Empty(t, Unknown())
	t.Setenv(Variable, "sched,net")
	require.Equal(t, "net", Unknown())
}
