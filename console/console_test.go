package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"runtime/trace"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/console"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// A blocker echoes, and blocks for the word block until release is closed.
type blocker struct {
	server.Base
	entered chan bool
	release chan struct{}
}

func (h *blocker) OnData(c *server.Conn) error {
	p, _ := c.Next(-1)
	if string(p) == "block" {
		h.entered <- true
		h.blocks()
	}
	_, err := c.Write(p)
	return err
}

func (h *blocker) blocks() { <-h.release }

// serve serves h until the end of the test.
func serve(t *testing.T, s *server.Server) net.Addr {
	t.Helper()
	listening, served := make(chan net.Addr, 1), make(chan error, 1)
	s.Addr = "127.0.0.1:0"
	s.Listening = func(a net.Addr) { listening <- a }
	go func() { served <- s.ListenAndServe() }()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.ErrorIs(t, <-served, server.ErrServerClosed)
	})
	return conntest.Receive(t, listening)
}

func dial(t *testing.T, addr net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial(addr.Network(), addr.String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// roundTrip makes the connection known to the server.
func roundTrip(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := io.WriteString(c, "x")
	require.NoError(t, err)
	_, err = io.ReadFull(c, make([]byte, 1))
	require.NoError(t, err)
}

type snapshot struct {
	State, Backend string
	Connections    int
	Listeners      []string
	Events         bool
	Recorder       bool
	Workers        []struct {
		State, Handler, Peer string
		MS                   float64
	}
	Handlers []struct {
		Handler, Peer, Stack string
		Runs                 int
		MaxMS                float64
	}
	Conns []struct {
		ID, Peer, Handler string
		Received, Sent    int
	}
	Pools    []struct{ Name string }
	Warnings []struct{ Level, Text string }
}

func get(t *testing.T, url string) snapshot {
	t.Helper()
	r, err := http.Get(url + "/snapshot.json")
	require.NoError(t, err)
	defer r.Body.Close()
	var s snapshot
	require.NoError(t, json.NewDecoder(r.Body).Decode(&s))
	return s
}

// post sends a form, with headers in pairs.
func post(t *testing.T, target string, form url.Values, headers ...string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer a.Body.Close()
	return a.StatusCode
}

func TestASnapshotShowsTheServer(t *testing.T) {
	warnings := console.NewWarnings(slog.DiscardHandler)
	h := &blocker{entered: make(chan bool, 1), release: make(chan struct{})}
	s := &server.Server{Handler: h, Workers: 1, Events: 64, Logger: slog.New(warnings)}
	page := httptest.NewServer(console.Handler(s, &console.Config{
		Warnings: warnings, Interval: 100 * time.Millisecond, Pools: map[string]*blocking.Pool{"disk": new(blocking.Pool)},
	}))
	defer page.Close()
	conntest.Eventually(t, func() bool { return get(t, page.URL).State == "does not serve yet" })
	addr := serve(t, s)
	quiet := dial(t, addr)
	roundTrip(t, quiet)
	slow := dial(t, addr)
	_, err := io.WriteString(slow, "block")
	require.NoError(t, err)
	conntest.Receive(t, h.entered)
	var got snapshot
	peer := slow.LocalAddr().String() // a busy machine may make the other connection's run a slow one
	conntest.Eventually(t, func() bool {
		got = get(t, page.URL)
		return got.State == "serves" && len(got.Handlers) == 1 && got.Handlers[0].Peer == peer &&
			strings.Contains(got.Handlers[0].Stack, "blocker).blocks") && len(got.Warnings) > 0
	})
	close(h.release)
	require.Equal(t, []string{"tcp " + addr.String()}, got.Listeners)
	require.Equal(t, 2, got.Connections)
	require.True(t, got.Events)
	require.Len(t, got.Conns, 2)
	require.Equal(t, "*console_test.blocker", got.Conns[0].Handler)
	require.Equal(t, "disk", got.Pools[0].Name)
	require.Equal(t, "runs", got.Workers[0].State)
	require.Equal(t, peer, got.Workers[0].Peer)
	require.Positive(t, got.Workers[0].MS)
	require.Contains(t, got.Warnings[0].Text, "a task occupies its worker")
	ended := func() bool { h := get(t, page.URL).Handlers[0]; return h.MaxMS > 20 }
	conntest.Eventually(t, ended, "the whole duration is known once the run has ended")
}

func TestAPostClosesAConnection(t *testing.T) {
	s := &server.Server{Handler: &blocker{}}
	addr := serve(t, s)
	page := httptest.NewServer(console.Handler(s, nil))
	defer page.Close()
	for _, how := range []string{"close", "reset"} {
		c := dial(t, addr)
		roundTrip(t, c)
		var id string
		conntest.Eventually(t, func() bool {
			for _, o := range get(t, page.URL).Conns {
				if o.Peer == c.LocalAddr().String() {
					id = o.ID
				}
			}
			return id != ""
		})
		require.Equal(t, http.StatusNoContent, post(t, page.URL+"/close", url.Values{"id": {id}, "how": {how}}, "Suiro-Console", "1", "Origin", page.URL))
		_, err := c.Read(make([]byte, 1))
		if how == "close" {
			require.ErrorIs(t, err, io.EOF)
			require.NoError(t, c.Close())
		} else {
			require.Error(t, err)
			require.NotErrorIs(t, err, io.EOF)
		}
		conntest.Eventually(t, func() bool { return s.Group().Len() == 0 })
		require.Equal(t, http.StatusNotFound, post(t, page.URL+"/close", url.Values{"id": {id}, "how": {how}}, "Suiro-Console", "1"))
	}
	require.Equal(t, http.StatusBadRequest, post(t, page.URL+"/close", url.Values{"id": {"x"}, "how": {"close"}}, "Suiro-Console", "1"))
	require.Equal(t, http.StatusBadRequest, post(t, page.URL+"/close", url.Values{"id": {"1"}}, "Suiro-Console", "1"))
}

func TestRequestsOfOtherSitesAreRefused(t *testing.T) {
	page := httptest.NewServer(console.Handler(new(server.Server), &console.Config{Hosts: []string{"admin.example"}}))
	defer page.Close()
	form := url.Values{"id": {"1"}, "how": {"close"}}
	const ours, allowed, refused = "Suiro-Console", http.StatusNotFound, http.StatusForbidden
	for _, c := range []struct {
		want    int
		headers []string
	}{
		{allowed, []string{ours, "1"}},
		{allowed, []string{ours, "1", "Origin", page.URL, "Sec-Fetch-Site", "same-origin"}},
		{allowed, []string{ours, "1", "Host", "admin.example", "Origin", "https://admin.example"}},
		{allowed, []string{ours, "1", "Host", "localhost:80"}},
		{refused, nil},
		{refused, []string{ours, "2"}},
		{refused, []string{ours, "1", "Origin", "http://evil.example"}},
		{refused, []string{ours, "1", "Origin", "null"}},
		{refused, []string{ours, "1", "Sec-Fetch-Site", "cross-site"}},
		{refused, []string{ours, "1", "Sec-Fetch-Site", "same-site"}},
		{refused, []string{ours, "1", "Host", "evil.example", "Origin", "http://evil.example"}},
	} {
		require.Equal(t, c.want, post(t, page.URL+"/close", form, c.headers...), "%v", c.headers)
	}
	for path, want := range map[string]int{"/close": http.StatusMethodNotAllowed, "/flight": http.StatusMethodNotAllowed, "/": http.StatusOK, "/none": http.StatusNotFound} {
		r, err := http.Get(page.URL + path)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		require.Equal(t, want, r.StatusCode, path)
		require.Contains(t, r.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'")
		require.NotContains(t, r.Header.Get("Content-Security-Policy"), "unsafe")
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page.URL+"/snapshot.json", http.NoBody)
	require.NoError(t, err)
	r.Host = "evil.example"
	a, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, a.Body.Close())
	require.Equal(t, refused, a.StatusCode, "DNS rebinding")
}

// The stream goes on while the server serves, and ends by itself when its own server shuts down.
func TestAStreamEndsWithItsServer(t *testing.T) {
	s := &server.Server{Handler: &blocker{}}
	serve(t, s)
	admin := &server.Server{Handler: server.HTTP(console.Handler(s, &console.Config{Interval: 100 * time.Millisecond}))}
	listening := make(chan net.Addr, 1)
	admin.Addr, admin.Listening = "127.0.0.1:0", func(a net.Addr) { listening <- a }
	served := make(chan error, 1)
	go func() { served <- admin.ListenAndServe() }()
	addr := conntest.Receive(t, listening)
	r, err := http.Get("http://" + addr.String() + "/stream")
	require.NoError(t, err)
	defer r.Body.Close()
	require.Equal(t, "text/event-stream", r.Header.Get("Content-Type"))
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 1<<20)
	for events := 0; events < 3; {
		require.True(t, lines.Scan(), "%v", lines.Err())
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			require.True(t, json.Valid([]byte(data)))
			events++
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
	defer cancel()
	require.NoError(t, admin.Shutdown(ctx))
	_, err = io.Copy(io.Discard, r.Body)
	require.NoError(t, err, "the stream ends in order")
	require.ErrorIs(t, <-served, server.ErrServerClosed)
}

// A HEAD has no body that could end, so its stream would hold the connection for ever.
func TestAHeadOfTheStreamEndsAtOnce(t *testing.T) {
	s := &server.Server{Handler: &blocker{}}
	serve(t, s)
	web := httptest.NewServer(console.Handler(s, nil))
	defer web.Close()
	c := dial(t, web.Listener.Addr())
	defer c.Close() // web waits for it
	require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
	in := bufio.NewReader(c)
	for range 20 { // more than there may be streams
		_, err := io.WriteString(c, "HEAD /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
		res, err := http.ReadResponse(in, &http.Request{Method: http.MethodHead})
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	}
}

func TestTheEventsAreATrace(t *testing.T) {
	s := &server.Server{Handler: &blocker{}, Events: 256}
	addr := serve(t, s)
	roundTrip(t, dial(t, addr))
	page := httptest.NewServer(console.Handler(s, nil))
	defer page.Close()
	r, err := http.Get(page.URL + "/events.json")
	require.NoError(t, err)
	defer r.Body.Close()
	var events struct{ TraceEvents []struct{ Name string } }
	require.NoError(t, json.NewDecoder(r.Body).Decode(&events))
	require.NotEmpty(t, events.TraceEvents)
	d, err := http.Get(page.URL + "/dump")
	require.NoError(t, err)
	defer d.Body.Close()
	text, err := io.ReadAll(d.Body)
	require.NoError(t, err)
	require.Contains(t, string(text), "worker 0:")
}

// The flight recorder is the user's: the page saves what it has, and neither starts nor stops it.
func TestASnapshotOfTheFlightRecorder(t *testing.T) {
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	page := httptest.NewServer(console.Handler(new(server.Server), &console.Config{Recorder: recorder, Interval: 100 * time.Millisecond}))
	defer page.Close()
	require.True(t, get(t, page.URL).Recorder)
	require.Equal(t, http.StatusServiceUnavailable, post(t, page.URL+"/flight", nil, "Suiro-Console", "1"), "it does not record yet")
	require.NoError(t, recorder.Start())
	defer recorder.Stop()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page.URL+"/flight", http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Suiro-Console", "1")
	a, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), "go 1."), "%.20q", text)
	require.True(t, recorder.Enabled())
}

func TestWarningsKeepTheLastOnesAndPassAllOn(t *testing.T) {
	var log strings.Builder
	w := console.NewWarnings(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
	page := httptest.NewServer(console.Handler(new(server.Server), &console.Config{Warnings: w}))
	defer page.Close()
	l := slog.New(w).With("of", "a").WithGroup("g")
	for range 200 {
		l.Warn("many")
	}
	l.Info("not kept")
	l.Error("last", "path", "<b>")
	got := get(t, page.URL).Warnings
	require.Len(t, got, 100)
	require.Equal(t, "last of=a path=<b>", got[0].Text)
	require.Equal(t, "ERROR", got[0].Level)
	require.Equal(t, 1, strings.Count(log.String(), "\n"), "the next handler has its own level")
}

// A halted is a server whose lock somebody holds while halt is set.
type halted struct {
	*server.Server
	halt atomic.Bool
	free chan struct{}
}

func (h *halted) Stopping() bool {
	if h.halt.Load() {
		<-h.free
	}
	return h.Server.Stopping()
}

// A fickle is a server whose answer is that of the moment when it was asked.
type fickle struct {
	*server.Server
	stops, halt atomic.Bool
	panics      atomic.Pointer[func()]
	asked, free chan struct{}
}

func (f *fickle) Stopping() bool {
	if p := f.panics.Load(); p != nil {
		(*p)()
	}
	stops := f.stops.Load()
	if f.halt.Load() {
		f.asked <- struct{}{}
		<-f.free
	}
	return stops
}

func stateOf(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url + "/snapshot.json")
	require.NoError(t, err)
	defer func() { _ = r.Body.Close() }()
	var shown struct{ State string }
	require.NoError(t, json.NewDecoder(r.Body).Decode(&shown))
	return shown.State
}

func TestALateAnswerIsNotTakenForThePresentState(t *testing.T) {
	s := &server.Server{Handler: &blocker{}, Workers: 2}
	serve(t, s)
	f := &fickle{Server: s, asked: make(chan struct{}, 1), free: make(chan struct{})}
	page := httptest.NewServer(console.Handler(f, nil))
	defer page.Close()
	f.halt.Store(true)
	require.Contains(t, stateOf(t, page.URL), "does not answer")
	<-f.asked
	f.stops.Store(true)
	f.halt.Store(false)
	close(f.free)
	var state string
	require.Eventually(t, func() bool {
		state = stateOf(t, page.URL)
		return !strings.Contains(state, "does not answer") // a busy machine may make it wait once more
	}, conntest.Patience, time.Millisecond)
	require.Equal(t, "stops", state)
}

func TestAPanicOfAServersMethodEndsTheRequestOnly(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	s := &server.Server{Handler: &blocker{}, Workers: 2}
	serve(t, s)
	f := &fickle{Server: s}
	page := httptest.NewUnstartedServer(console.Handler(f, nil))
	page.Config.ErrorLog = log.New(io.Discard, "", 0)
	page.Start()
	defer page.Close()
	for _, fail := range []func(){
		func() { panic("a server's method") },
		func() { panic(nil) },
	} {
		f.panics.Store(&fail)
		conntest.Eventually(t, func() bool { // on a busy machine the panic may come too late for the first
			r, err := http.Get(page.URL + "/snapshot.json")
			if err == nil {
				require.NoError(t, r.Body.Close())
			}
			return err != nil
		})
		f.panics.Store(nil)
		conntest.Eventually(t, func() bool { return stateOf(t, page.URL) == "serves" })
	}
}

func TestAServerThatDoesNotAnswerIsShown(t *testing.T) {
	s := &server.Server{Handler: &blocker{}, Workers: 2}
	serve(t, s)
	h := &halted{Server: s, free: make(chan struct{})}
	page := httptest.NewServer(console.Handler(h, &console.Config{Interval: 100 * time.Millisecond}))
	defer page.Close()
	state := func() (state string, workers int) {
		r, err := http.Get(page.URL + "/snapshot.json")
		require.NoError(t, err)
		defer r.Body.Close()
		var shown struct {
			State   string
			Workers []any
		}
		require.NoError(t, json.NewDecoder(r.Body).Decode(&shown))
		return shown.State, len(shown.Workers)
	}
	is := func(want string) func() bool {
		return func() bool {
			s, workers := state()
			return s == want && workers == 2
		}
	}
	require.Eventually(t, is("serves"), conntest.Patience, time.Millisecond)
	h.halt.Store(true)
	goroutines := runtime.NumGoroutine()
	require.Eventually(t, is("does not answer: somebody holds its lock"), conntest.Patience, time.Millisecond)
	for range 10 { // the workers are those that were known
		require.True(t, is("does not answer: somebody holds its lock")())
	}
	conntest.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+5 }, "one goroutine waits, not one for each snapshot")
	h.halt.Store(false)
	close(h.free)
	require.Eventually(t, is("serves"), conntest.Patience, time.Millisecond)
}
