package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"
)

// patience is how long a step may take on a busy machine.
const patience = time.Minute

var (
	whole = &snapshot{
		State: "serves", Backend: "epoll", Uptime: 61, Connections: 5, Buffered: 2048, Goroutines: 9, Errors: 1, Panics: 2, Tasks: 7, Timers: 3,
		Global: 4, Listeners: []string{"tcp 127.0.0.1:9000"},
		Workers: []worker{
			{Worker: 0, State: "parked", Runs: 100, Steals: 1, Parks: 2, Mean: 1.5, For: 99},
			{Worker: 1, State: "runs", Runs: 200, Handler: "main.serve", Peer: "192.0.2.1:1", For: 1500},
		},
		Handlers: []handler{{Handler: "main.serve", Runs: 3, Total: 40, Max: 20, Peer: "192.0.2.1:1"}},
		Conns: []connection{
			{Peer: "192.0.2.1:1", Handler: "main.serve", Received: 10, Sent: 3000},
			{Peer: "192.0.2.2:2", Handler: "main.Echo", Received: 30, Sent: 1},
			{Peer: "192.0.2.3:3", Handler: "main.serve", Received: 20, Sent: 2, Unsent: 5 << 20},
		},
		Warnings: []warning{{Level: "WARN", Text: "sched: a task occupies its worker"}},
	}
	start = time.Unix(1_000_000_000, 0)
)

// shown is a model with a snapshot, on a screen of 100 columns and 40 lines.
func shown(t *testing.T, s *snapshot) *model {
	t.Helper()
	m := newModel("127.0.0.1:9001")
	press(t, m, tea.WindowSizeMsg{Width: 120, Height: 40}, arrived{s, start})
	return m
}

func press(t *testing.T, m *model, all ...tea.Msg) {
	t.Helper()
	for _, msg := range all {
		if text, ok := msg.(string); ok {
			for _, r := range text {
				press(t, m, tea.KeyPressMsg{Code: r, Text: string(r)})
			}
			continue
		}
		_, cmd := m.Update(msg)
		require.Nil(t, cmd)
	}
}

// peers are the peers of the list of connections, from the top.
func peers(m *model) (all []string) {
	_, list, _ := strings.Cut(m.text(), "UNSENT  PEER")
	for _, found := range regexp.MustCompile(`192\.0\.2\.(\d)`).FindAllStringSubmatch(list, -1) {
		all = append(all, found[1])
	}
	return all
}

func TestTheViewShowsTheServer(t *testing.T) {
	view := shown(t, whole).text()
	for _, text := range []string{
		"suiro top 127.0.0.1:9001   epoll   serves for 1m1s   tcp 127.0.0.1:9000", "connections 5   tasks 7   timers 3   global queue 4",
		"goroutines 9   buffered 2.0 KiB   handler errors 1   panics 2", "main.serve 192.0.2.1:1", "1.5s", "40ms       20ms", "5.0 MiB", "2.9 KiB", "and 2 more",
		"a task occupies its worker", "sorted by received",
	} {
		require.Contains(t, view, text)
	}
	require.NotContains(t, view, "99ms", "a parked worker runs nothing")
}

func TestRunsASecondAreThoseBetweenTwoSnapshots(t *testing.T) {
	m := shown(t, whole)
	require.Contains(t, m.text(), "runs/s -")
	next := *whole
	next.Workers = []worker{{Runs: 400}, {Runs: 500}}
	press(t, m, arrived{&next, start.Add(2 * time.Second)})
	require.Contains(t, m.text(), "runs/s 300")
	press(t, m, arrived{whole, start.Add(3 * time.Second)}) // the server was restarted
	require.Contains(t, m.text(), "runs/s 0")
}

func TestSorting(t *testing.T) {
	m := shown(t, whole)
	for _, want := range []string{"231", "132", "312", "123", "213", "231"} {
		require.Equal(t, strings.Split(want, ""), peers(m), columns[m.sort].name)
		press(t, m, "s")
	}
	m.sort = 0
	press(t, m, "S")
	require.Equal(t, []string{"1", "3", "2"}, peers(m))
	require.Contains(t, m.text(), "sorted by received, reversed")
}

func TestFiltering(t *testing.T) {
	m := shown(t, whole)
	press(t, m, "/", "e", "C", "hx", tea.KeyPressMsg{Code: tea.KeyBackspace})
	require.Contains(t, m.text(), "/eCh_")
	require.Equal(t, []string{"2"}, peers(m))
	press(t, m, tea.KeyPressMsg{Code: tea.KeyEnter})
	require.Contains(t, m.text(), "only eCh")
	press(t, m, "s", "S") // keys are commands again
	require.Equal(t, []string{"2"}, peers(m))
	press(t, m, tea.KeyPressMsg{Code: tea.KeyEscape})
	require.Len(t, peers(m), 3)
	press(t, m, "/", "serve", tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}, tea.KeyPressMsg{Code: tea.KeyEscape})
	require.Len(t, peers(m), 3)
}

func TestScrollingStopsAtBothEnds(t *testing.T) {
	many := *whole
	many.Conns, many.Warnings = nil, nil
	for i := range 100 {
		many.Conns = append(many.Conns, connection{Peer: fmt.Sprintf("peer-%02d", i), Received: uint64(1000 - i)})
	}
	m := shown(t, &many)
	press(t, m, tea.WindowSizeMsg{Width: 80, Height: 20})
	require.Len(t, strings.Split(m.text(), "\n"), 20)
	require.Contains(t, m.text(), "peer-00")
	press(t, m, tea.KeyPressMsg{Code: tea.KeyUp})
	require.Zero(t, m.scroll)
	press(t, m, tea.KeyPressMsg{Code: tea.KeyEnd})
	require.Contains(t, m.text(), "peer-99")
	end := m.scroll
	press(t, m, tea.KeyPressMsg{Code: tea.KeyPgDown}, tea.KeyPressMsg{Code: tea.KeyDown})
	require.Equal(t, end, m.scroll)
	press(t, m, tea.KeyPressMsg{Code: tea.KeyPgUp})
	require.Less(t, m.scroll, end)
	press(t, m, tea.KeyPressMsg{Code: tea.KeyHome})
	require.Contains(t, m.text(), "peer-00")
}

func TestWhatPeersSendIsNotObeyed(t *testing.T) {
	hostile := *whole
	hostile.Conns = []connection{{Peer: "\x1b[2J\x1b]0;owned\x07", Handler: "a\nb\u009b31m\u202e"}}
	hostile.Warnings = []warning{{Text: "line\r\nbreak\x1b[0m"}}
	m := shown(t, &hostile)
	lines := strings.Count(m.text(), "\n")
	require.NotRegexp(t, `[\x00-\x09\x0b-\x1f\x7f\x80-\x9f\x{202e}]`, m.text())
	require.Contains(t, m.text(), "�[2J")
	hostile.Conns[0], hostile.Warnings[0].Text = connection{}, ""
	require.Equal(t, lines, strings.Count(shown(t, &hostile).text(), "\n"), "no line was added")
}

func TestNoLineIsLongerThanTheScreen(t *testing.T) {
	m := shown(t, whole)
	for _, width := range []int{0, 1, 7, 40} {
		press(t, m, tea.WindowSizeMsg{Width: width, Height: 10})
		for line := range strings.SplitSeq(m.text(), "\n") {
			require.LessOrEqual(t, len([]rune(line)), width)
		}
	}
}

func TestALostStreamIsSaidAndTheLastSnapshotStays(t *testing.T) {
	m := newModel("a")
	require.Contains(t, m.text(), "connecting")
	press(t, m, lost{errors.New("refused")})
	require.Contains(t, m.text(), "cannot be reached: refused")
	press(t, m, arrived{whole, start}, lost{io.EOF})
	require.Contains(t, m.text(), "LOST")
	require.Contains(t, m.text(), "main.serve")
	press(t, m, arrived{whole, start})
	require.NotContains(t, m.text(), "LOST")
}

// A process that is stopped neither sends nor hangs up.
func TestSilenceIsSaid(t *testing.T) {
	m := shown(t, whole)
	at := func(d time.Duration) string {
		_, next := m.Update(tick(start.Add(d)))
		require.NotNil(t, next, "there are more ticks")
		return m.text()
	}
	require.NotContains(t, at(silence), "SILENT")
	require.Contains(t, at(silence+time.Second), "SILENT FOR 6s (was: serves)")
	press(t, m, arrived{whole, start.Add(silence + 2*time.Second)})
	require.NotContains(t, m.text(), "SILENT")
}

func TestAPasswordIsNotShown(t *testing.T) {
	require.Equal(t, "http://x:xxxxx@192.0.2.1:9090/", withoutSecret("http://x:secret@192.0.2.1:9090/"))
	require.Equal(t, "192.0.2.1:9090", withoutSecret("192.0.2.1:9090"))
}

func TestQuitting(t *testing.T) {
	for _, key := range []tea.KeyPressMsg{{Code: 'c', Mod: tea.ModCtrl}, {Code: 'q', Text: "q"}} {
		_, cmd := newModel("a").Update(key)
		require.NotNil(t, cmd)
		require.Equal(t, tea.QuitMsg{}, cmd())
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:9001": "http://127.0.0.1:9001/stream", "[::1]:1/": "http://[::1]:1/stream",
		"https://example.com/console/": "https://example.com/console/stream", "http://a": "http://a/stream",
	} {
		got, err := streamOf(address)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, address := range []string{"", "ftp://a", "http://", "http://a b"} {
		_, err := streamOf(address)
		require.Error(t, err, address)
	}
	require.ErrorContains(t, run([]string{"top"}), "usage")
	require.ErrorContains(t, run([]string{"bottom", "a"}), "usage")
}

// followed runs follow until one message fits.
func followed(t *testing.T, at string, fits func(tea.Msg) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	found := false
	follow(ctx, at, func(msg tea.Msg) {
		if fits(msg) {
			found = true
			cancel()
		}
	})
	require.True(t, found)
}

func TestAStreamThatEndsIsDialedAnew(t *testing.T) {
	answers := []func(http.ResponseWriter){
		func(w http.ResponseWriter) { http.Error(w, "too many pages are open", http.StatusServiceUnavailable) },
		func(w http.ResponseWriter) { _, _ = io.WriteString(w, "data: {\n\n") },
		func(w http.ResponseWriter) { _ = json.NewEncoder(lineOf(w)).Encode(whole) },
	}
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if len(answers) > 0 {
			answers[0](w)
			answers = answers[1:]
		}
	}))
	defer s.Close()
	var said []string
	followed(t, s.URL, func(msg tea.Msg) bool {
		if l, ok := msg.(lost); ok {
			said = append(said, l.Error())
			return false
		}
		require.Equal(t, whole, msg.(arrived).snapshot)
		return true
	})
	require.Len(t, said, 2)
	require.Contains(t, said[0], "503 Service Unavailable: too many pages are open")
	require.Contains(t, said[1], "this is not a console")
}

// lineOf writes ": a comment" and "data: " first.
func lineOf(w io.Writer) io.Writer {
	_, _ = io.WriteString(w, ": a comment\ndata: ")
	return w
}

// echo starts the example, and returns its address and that of its console.
func echo(t *testing.T) (addr, console string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "echo")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.Command("go", "build", "-o", program, "./examples/echo")
	build.Dir = filepath.Join("..", "..")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	s := exec.Command(program, "-addr", "127.0.0.1:0", "-admin", "127.0.0.1:0")
	s.Stderr = os.Stderr
	text, err := s.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.Start())
	t.Cleanup(func() {
		_ = s.Process.Kill()
		_ = s.Wait()
	})
	lines := bufio.NewScanner(text)
	for (addr == "" || console == "") && lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			addr, _, _ = strings.Cut(at, " ")
		}
		if _, at, ok := strings.Cut(lines.Text(), "http://"); ok {
			console, _, _ = strings.Cut(at, "/")
		}
	}
	require.NotEmpty(t, addr)
	require.NotEmpty(t, console)
	return addr, console
}

// A watched is a model whose last view the test reads.
type watched struct {
	*model
	mu   sync.Mutex
	last string
}

func (w *watched) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := w.model.Update(msg)
	return w, cmd
}

func (w *watched) View() tea.View {
	v := w.model.View()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = w.text()
	return v
}

// await waits until the view has all texts.
func (w *watched) await(t *testing.T, texts ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(w.last, text) })
	}, patience, 10*time.Millisecond, "%q", texts)
}

func TestTopOfARealServer(t *testing.T) {
	addr, console := echo(t)
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write(make([]byte, 3<<10))
	require.NoError(t, err)
	_, err = io.ReadFull(c, make([]byte, 3<<10))
	require.NoError(t, err)

	keys, typed := io.Pipe()
	at, err := streamOf(console)
	require.NoError(t, err)
	var screen bytes.Buffer
	drawn, ended := &watched{model: newModel(console)}, make(chan error, 1)
	go func() {
		ended <- top(at, drawn, tea.WithInput(keys), tea.WithOutput(&screen), tea.WithoutSignals(), tea.WithWindowSize(120, 40))
	}()
	drawn.await(t, "suiro top "+console, "serves for", "tcp "+addr, "connections 1", "3.0 KiB", c.LocalAddr().String())
	_, err = io.WriteString(typed, "/nobody")
	require.NoError(t, err)
	drawn.await(t, "/nobody_")
	_, err = io.WriteString(typed, "\r")
	require.NoError(t, err)
	drawn.await(t, "only nobody")
	require.NoError(t, c.Close())
	drawn.await(t, "connections 0")
	_, err = io.WriteString(typed, "q")
	require.NoError(t, err)
	select {
	case err = <-ended:
		require.NoError(t, err)
	case <-time.After(patience):
		t.Fatal("the program does not end")
	}
	require.Contains(t, screen.String(), "suiro top "+console)
	require.Contains(t, screen.String(), "\x1b[?1049l", "the terminal has its old content again")
}
