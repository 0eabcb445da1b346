package interop

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// No request of nghttp2's h2load fails, by HTTP/2 over TLS as by HTTP/1.1: small answers and large
// ones, bodies, one stream at a time and many.
func TestH2loadSeesNoFailure(t *testing.T) {
	h2load, err := exec.LookPath("h2load")
	if err != nil {
		t.Skip("h2load is not installed: Debian's package is nghttp2-client")
	}
	post := t.TempDir() + "/post"
	require.NoError(t, exec.Command("sh", "-c", "head -c 100000 /dev/zero >"+post).Run())
	mux := http.NewServeMux()
	mux.HandleFunc("/small", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("large ", 50_000))
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	for name, serve := range ways {
		t.Run(name, func(t *testing.T) {
			of, client := certificate(t)
			of.NextProtos = []string{"h2", "http/1.1"}
			conntest.Backends(t, func(t *testing.T, backend string) {
				s := side{backend, of, client}
				url := "https://" + serve(s, t, mux)
				for _, c := range []struct {
					what, proto string
					requests    int
					args        string
				}{
					{"small", "h2", 20_000, "-c 50 -m 10 " + url + "/small"},
					{"small, one at a time", "h2", 5_000, "-c 20 -m 1 " + url + "/small"},
					{"large", "h2", 500, "-c 10 -m 10 " + url + "/large"},
					{"large, small windows", "h2", 50, "-c 5 -m 5 -w 16 -W 16 " + url + "/large"},
					{"bodies", "h2", 500, "-c 10 -m 5 -d " + post + " " + url + "/echo"},
					{"small, HTTP/1.1", "http/1.1", 5_000, "-c 50 --h1 " + url + "/small"},
				} {
					ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
					args := append([]string{"-n", fmt.Sprint(c.requests)}, strings.Fields(c.args)...)
					out, err := exec.CommandContext(ctx, h2load, args...).CombinedOutput()
					cancel()
					require.NoError(t, err, "%s", out)
					text := string(out)
					want := fmt.Sprintf("requests: %d total, %d started, %[1]d done, %[1]d succeeded, 0 failed, 0 errored, 0 timeout", c.requests, c.requests)
					require.Contains(t, text, want, c.what)
					require.Contains(t, text, fmt.Sprintf("status codes: %d 2xx, 0 3xx, 0 4xx, 0 5xx", c.requests), c.what)
					require.Contains(t, text, "Application protocol: "+c.proto, c.what)
					t.Logf("%s: %s", c.what, regexp.MustCompile(`finished in .*`).FindString(text))
				}
			})
		})
	}
}
