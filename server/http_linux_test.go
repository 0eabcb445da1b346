package server_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

func TestSmoke(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello ", r.RemoteAddr) })
		s := run(t, &server.Server{Handler: server.HTTP(h), Backend: backend})
		for i := range 3 {
			resp, err := http.Get("http://" + s.addr.String())
			require.NoError(t, err)
			p, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			t.Log(string(p), runtime.NumGoroutine())
			if i == 1 {
				time.Sleep(100 * time.Millisecond)
				t.Log(runtime.NumGoroutine())
			}
		}
		http.DefaultClient.CloseIdleConnections()
		require.NoError(t, s.Shutdown(t.Context()))
	})
}
