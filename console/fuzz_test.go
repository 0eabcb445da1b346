package console_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/suiro-go/suiro/console"
	"github.com/suiro-go/suiro/server"
)

// The handler answers every request. It refuses changes without the page's header, and those of
// other sites.
func FuzzRequests(f *testing.F) {
	f.Add("POST", "/close", "localhost", "1", "http://localhost", "same-origin", "id=1&how=close")
	f.Add("POST", "/close", "evil.example", "1", "http://evil.example", "", "id=1&how=reset")
	f.Add("GET", "/close", "[::1]:80", "", "", "cross-site", "id=18446744073709551615")
	f.Add("POST", "/flight", "127.0.0.1:1", "1", "null", "none", "%")
	f.Add("GET", "/events.json", "localhost", "", "", "", "")
	h := console.Handler(new(server.Server), nil)
	f.Fuzz(func(t *testing.T, method, path, host, header, origin, site, body string) {
		if path == "/stream" {
			return // endless
		}
		r := httptest.NewRequest(http.MethodGet, "/", strings.NewReader(body))
		r.Method, r.Host = method, host
		r.URL = &url.URL{Path: path}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for name, value := range map[string]string{"Suiro-Console": header, "Origin": origin, "Sec-Fetch-Site": site} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		_, _ = io.Copy(io.Discard, w.Body)
		if w.Header().Get("Content-Security-Policy") == "" {
			t.Fatal("an answer without a policy")
		}
		changes := method != http.MethodGet && method != http.MethodHead
		same := false
		if u, err := url.Parse(origin); err == nil {
			same = u.Host != "" && strings.EqualFold(u.Host, host)
		}
		foreign := origin != "" && !same || site != "" && site != "same-origin" && site != "none"
		if changes && (header != "1" || foreign) && w.Code != http.StatusForbidden {
			t.Fatalf("%d for a request that is not the page's", w.Code)
		}
	})
}

// Any text in the log is kept as valid text.
func FuzzWarnings(f *testing.F) {
	f.Add("a task occupies its worker", "handler", "\xff<script>")
	f.Fuzz(func(t *testing.T, message, key, value string) {
		w := console.NewWarnings(discard{})
		logWarning(w, message, key, value)
		h := console.Handler(new(server.Server), &console.Config{Warnings: w})
		r := httptest.NewRecorder()
		h.ServeHTTP(r, httptest.NewRequest(http.MethodGet, "http://localhost/snapshot.json", http.NoBody))
		if text := r.Body.String(); !strings.Contains(text, `"level":"WARN"`) || strings.Contains(text, "<") {
			t.Fatalf("%q", text) // encoding/json escapes <
		}
	})
}

func logWarning(h slog.Handler, message, key, value string) { slog.New(h).Warn(message, key, value) }

// discard is a slog.Handler that drops all records.
type discard struct{ slog.Handler }

func (discard) Enabled(context.Context, slog.Level) bool { return false }
