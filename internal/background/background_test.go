package background_test

import (
	"bytes"
	"context"
	"runtime/pprof"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/background"
)

func TestAGoroutineHasNoLabelsOfItsStarter(t *testing.T) {
	begun, end := make(chan bool), make(chan bool)
	pprof.Do(context.Background(), pprof.Labels("of", "the-starter"), func(context.Context) {
		background.Go(func() { close(begun); <-end })
	})
	<-begun
	var profile bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&profile, 1))
	require.NotContains(t, profile.String(), "the-starter")
	close(end)
}
