package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

var program string

func TestMain(m *testing.M) { conntest.Main(m, func(path string) { program = path }) }

// crawl runs the program and returns its lines, sorted.
func crawl(t *testing.T, args ...string) (lines []string, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		code = err.(*exec.ExitError).ExitCode()
	}
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	slices.Sort(lines)
	return lines, errs.String(), code
}

// A site is a server with pages of all kinds.
type site struct {
	*httptest.Server
	open, most atomic.Int32 // requests at a time
	reached    chan struct{}
	done       chan struct{} // closed at the end: slow pages give up
}

func newSite(t *testing.T) *site {
	s := &site{reached: make(chan struct{}, 100), done: make(chan struct{})}
	mux := http.NewServeMux()
	pages := func(path, kind, body string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		})
	}
	pages("/{$}", "text/html; charset=utf-8", `<a href="/a">1</a> <A class=x HREF='b#part'>2</A> <a href=/a>3</a> <a href="/moved">4</a>
		<a href="http://elsewhere.invalid/">5</a> <a href="mailto:a@b">6</a> <a href="/missing?x=1&amp;y=2">7</a>`)
	pages("/a", "text/html", `<a href="/">back</a> <a href="/text">on</a>`)
	pages("/b", "text/html", strings.Repeat("long, hence chunked ", 10_000))
	pages("/text", "text/plain", `<a href="/never">no link</a>`)
	mux.HandleFunc("GET /moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/target", http.StatusFound) })
	mux.HandleFunc("GET /target", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/moved", http.StatusFound) })
	mux.HandleFunc("GET /hints", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = io.WriteString(w, "after hints")
	})
	raw := func(path, answer string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(c, answer)
				_ = c.Close()
			}
		})
	}
	raw("/silent", "")
	raw("/broken", "no HTTP at all\r\n\r\n")
	raw("/cut", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nten bytes.")
	mux.HandleFunc("GET /slow", func(_ http.ResponseWriter, r *http.Request) {
		s.reached <- struct{}{}
		<-s.done
	})
	mux.HandleFunc("GET /drips", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil { // until the crawler leaves
			_, _ = io.WriteString(w, ".")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond) // so that there are never maxPage bytes
		}
	})
	mux.HandleFunc("GET /endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write(make([]byte, 64<<10))
		}
	})
	mux.HandleFunc("GET /many/{n}", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(2 * time.Millisecond) // others would come meanwhile
		_, _ = io.WriteString(w, r.PathValue("n"))
	})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := s.open.Add(1)
		defer s.open.Add(-1)
		for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		close(s.done)
		s.Close()
	})
	return s
}

func TestPagesOfOneHostAreFollowed(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := newSite(t)
		lines, stderr, code := crawl(t, "-backend", backend, "-workers", fmt.Sprint(workers), "-follow", s.URL+"/")
		require.Equal(t, []string{
			"200 " + s.URL + "/ 197 bytes", "200 " + s.URL + "/a 43 bytes", "200 " + s.URL + "/b 200000 bytes", "200 " + s.URL + "/text 28 bytes",
			"302 " + s.URL + "/moved 30 bytes", "302 " + s.URL + "/target 29 bytes", "404 " + s.URL + "/missing?x=1&y=2 19 bytes",
		}, lines)
		require.Empty(t, stderr)
		require.Zero(t, code)
	})
}

func TestBadPagesFailAlone(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := newSite(t)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, ln.Close()) // nobody listens there now
		refused := "http://" + ln.Addr().String() + "/"
		want := map[string]string{
			s.URL + "/hints":         "200 ",
			s.URL + "/a":             "200 ",
			s.URL + "/silent":        "unexpected EOF",
			s.URL + "/broken":        "malformed HTTP",
			s.URL + "/cut":           "after 10 bytes: unexpected EOF",
			s.URL + "/endless":       "unexpected EOF",
			refused:                  "connection refused",
			"http://nobody.invalid/": "",
		}
		args := []string{"-backend", backend, "-timeout", "90s"} // time for 4 MiB
		for u := range want {
			args = append(args, u)
		}
		lines, stderr, code := crawl(t, args...)
		require.Len(t, lines, len(want))
		for u, says := range want {
			i := slices.IndexFunc(lines, func(l string) bool {
				return strings.Contains(l+" ", " "+u+" ") || strings.HasPrefix(l, "failed "+u+":")
			})
			require.GreaterOrEqual(t, i, 0, "%s is not in %q", u, lines)
			require.Contains(t, lines[i], says)
			require.Equal(t, says != "200 ", strings.HasPrefix(lines[i], "failed "), lines[i])
		}
		require.Equal(t, "crawler: 6 pages failed\n", stderr)
		require.Equal(t, 1, code)
	})
}

func TestPagesThatTakeTooLongFail(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := newSite(t)
		lines, stderr, code := crawl(t, "-backend", backend, "-timeout", "500ms", s.URL+"/slow", s.URL+"/drips")
		require.Len(t, lines, 2)
		for _, l := range lines {
			require.Regexp(t, `^failed .*/(slow|drips): .*(i/o timeout|timed out)`, l)
		}
		require.Equal(t, "crawler: 2 pages failed\n", stderr)
		require.Equal(t, 1, code)
	})
}

func TestConnectionsAndPagesAreBounded(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := newSite(t)
		args := []string{"-backend", backend, "-workers", fmt.Sprint(workers), "-conns", "3", "-max", "60"}
		for i := range 100 {
			args = append(args, fmt.Sprint(s.URL, "/many/", i))
		}
		lines, stderr, code := crawl(t, args...)
		require.Len(t, lines, 60)
		require.Empty(t, stderr)
		require.Zero(t, code)
		require.LessOrEqual(t, s.most.Load(), int32(3))
	})
}

func TestASignalEndsIt(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			s := newSite(t)
			var stderr bytes.Buffer
			cmd := exec.Command(program, "-backend", backend, "-conns", "1", s.URL+"/slow", s.URL+"/a")
			cmd.Stderr = &stderr
			require.NoError(t, cmd.Start())
			conntest.Receive(t, s.reached) // one page is under way, the other one waits
			require.NoError(t, cmd.Process.Signal(signal))
			require.Error(t, cmd.Wait())
			require.Equal(t, "crawler: interrupted\n", stderr.String())
		}
	})
}

func TestArgumentsAreChecked(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"", "one URL or more"}, {"-conns 0 http://a/", "-conns of 1 or more"}, {"ftp://a/", "no URL of HTTP"}, {"http:///x", "no URL of HTTP"},
		{"-backend none http://a/", "use io_uring or epoll"},
	} {
		lines, stderr, code := crawl(t, strings.Fields(c.args)...)
		require.Empty(t, lines)
		require.Equal(t, 1, code)
		require.Equal(t, 1, strings.Count(stderr, "\n"))
		require.Contains(t, stderr, c.says)
	}
}
