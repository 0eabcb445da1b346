package server_test

import (
	"bytes"
	"net/http"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// Requests are served by goroutines of net/http, which have no labels of the worker on which the
// first of them began.
func TestRequestsHaveNoLabelsOfAWorker(t *testing.T) {
	t.Setenv("SUIRO_DEBUG", "labels")
	conntest.Backends(t, func(t *testing.T, backend string) {
		entered, release := make(chan bool), make(chan bool)
		h := server.HTTP(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { entered <- true; <-release }))
		s := run(t, &server.Server{Handler: h, Backend: backend, Workers: 1})
		_, err := s.dial().Write([]byte("GET / HTTP/1.1\r\nHost: test\r\n\r\n"))
		require.NoError(t, err)
		conntest.Receive(t, entered)
		defer close(release)
		conntest.Eventually(t, func() bool { // the worker's own run may not be over
			var profile bytes.Buffer
			require.NoError(t, pprof.Lookup("goroutine").WriteTo(&profile, 1))
			return !strings.Contains(profile.String(), "suiro.handler")
		})
	})
}
