package duplex_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/duplex"
	"github.com/suiro-go/suiro/internal/patience"
)

// A line is a fake: it takes as many bytes as it has room for, and notes what it is asked.
type line struct {
	mu     sync.Mutex
	room   int
	got    []byte
	asked  []string
	kept   int
	failed error
	puts   int
	during func() // called by Put
	beyond int    // bytes of Queue
	closed int    // bytes before Close
}

func (l *line) Write(p []byte) (int, error) {
	if l.during != nil {
		l.during()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.puts++
	n := min(len(p), l.room)
	l.room -= n
	l.got = append(l.got, p[:n]...)
	return n, l.failed
}

func (l *line) Queue(p []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, p...)
	l.beyond += len(p)
	return l.failed
}

func (l *line) Room() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.room > 0
}

func (l *line) ask(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, what)
}

func (l *line) Awaited()    {}
func (l *line) Watch()      { l.ask("watch") }
func (l *line) Resume()     { l.ask("resume") }
func (l *line) CloseRead()  { l.ask("close read") }
func (l *line) CloseWrite() { l.ask("close write") }
func (l *line) Close(reset bool) {
	if reset {
		l.ask("reset")
		return
	}
	l.ask("close")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = len(l.got)
}

func (l *line) Keep(bytes int) bool {
	less := bytes < l.kept
	l.kept = bytes
	return less
}

func (l *line) Freed() { l.ask("freed") }

// atClose are the bytes before Close.
func (l *line) atClose() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.got[:l.closed])
}

func (l *line) took() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.got)
}

func (l *line) wants() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.asked, ", ")
}

// opened is a Duplex over a line with a window of 8 bytes, which goes on at 2.
func opened(room int) (*duplex.Duplex, *line) {
	d, l := new(duplex.Duplex), &line{room: room}
	d.Open(l, duplex.Window{First: 8, Most: 12, Low: 4})
	return d, l
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	require.Eventually(t, done, patience.Limit, time.Millisecond)
}

type result struct {
	data string
	err  error
}

// reads begins a Read and returns when it waits.
func reads(t *testing.T, d *duplex.Duplex, n int) <-chan result {
	t.Helper()
	done := make(chan result, 1)
	go func() {
		p := make([]byte, n)
		n, err := d.Read(p)
		done <- result{string(p[:n]), err}
	}()
	eventually(t, func() bool { return d.Stats().AwaitsData })
	return done
}

func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience.Limit):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

func TestAReadGetsWhatArrivesAndTheRestIsKept(t *testing.T) {
	d, l := opened(0)
	done := reads(t, d, 3)
	taken, pause := d.Arrived(nil, []byte("abcde"))
	require.True(t, taken)
	require.False(t, pause)
	require.Equal(t, result{"abc", nil}, receive(t, done))
	require.Equal(t, 2, l.kept)
	p := make([]byte, 9)
	n, err := d.Read(p)
	require.NoError(t, err)
	require.Equal(t, "de", string(p[:n]))
	require.Zero(t, l.kept)
	require.Equal(t, "freed", l.wants())
}

func TestAFullWindowPausesTheLineUntilLittleIsLeft(t *testing.T) {
	d, l := opened(0)
	_, pause := d.Arrived(nil, []byte("1234567"))
	require.False(t, pause)
	_, pause = d.Arrived(nil, []byte("8"))
	require.True(t, pause)
	_, pause = d.Arrived(nil, []byte("9"))
	require.False(t, pause, "it was asked already")
	p := make([]byte, 6)
	_, err := io.ReadFull(d, p)
	require.NoError(t, err)
	require.NotContains(t, l.wants(), "resume", "3 are left")
	_, err = d.Read(p[:1])
	require.NoError(t, err)
	require.Contains(t, l.wants(), "resume")
	_, pause = d.Arrived(nil, []byte("12345"))
	require.False(t, pause, "once it was read the window is wider")
	_, pause = d.Arrived(nil, []byte("12345"))
	require.True(t, pause)
}

func TestTheEndComesAfterWhatArrivedBefore(t *testing.T) {
	for _, failed := range []error{nil, errors.New("reset")} {
		d, _ := opened(0)
		d.Arrived(nil, []byte("x"))
		want := io.EOF
		if failed == nil {
			d.Finished(nil)
		} else {
			require.True(t, d.Ended(failed))
			require.False(t, d.Ended(nil))
			want = failed
		}
		p := make([]byte, 2)
		n, err := d.Read(p)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		_, err = d.Read(p)
		require.Equal(t, want, err)
	}
}

func TestAWriteWaitsForRoomAndForItsTurn(t *testing.T) {
	d, l := opened(3)
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { _, err := d.Write([]byte("aaaaa")); first <- err }()
	eventually(t, func() bool { return d.Stats().AwaitsRoom })
	go func() { _, err := d.Write([]byte("bb")); second <- err }()
	l.mu.Lock()
	l.room = 4
	l.mu.Unlock()
	d.MadeRoom()
	require.NoError(t, receive(t, first))
	require.NoError(t, receive(t, second))
	require.Equal(t, "aaaaabb", l.took())
}

func TestRoomThatWasMadeBeforeTheWaitIsSeen(t *testing.T) {
	d, _ := opened(0)
	require.NoError(t, d.BeginWrite())
	d.MadeRoom()
	require.NoError(t, d.AwaitRoom())
	d.EndWrite()
}

func TestDeadlinesEndWhatWaitsAndWhatComesLater(t *testing.T) {
	d, _ := opened(0)
	done := reads(t, d, 1)
	writes := make(chan error, 1)
	go func() { _, err := d.Write([]byte("x")); writes <- err }()
	eventually(t, func() bool { return d.Stats().AwaitsRoom })
	require.NoError(t, d.SetDeadlines(time.Now().Add(10*time.Millisecond), true, true))
	require.ErrorIs(t, receive(t, done).err, os.ErrDeadlineExceeded)
	require.ErrorIs(t, receive(t, writes), os.ErrDeadlineExceeded)
	_, err := d.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, d.SetDeadlines(time.Time{}, true, true))
	d.Arrived(nil, []byte("y"))
	n, err := d.Read(make([]byte, 1))
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestCloseEndsWaitingCallsAndTheLine(t *testing.T) {
	for _, reset := range []bool{false, true} {
		d, l := opened(0)
		done := reads(t, d, 1)
		require.NoError(t, d.Reset(reset))
		require.NoError(t, d.Close())
		require.Equal(t, net.ErrClosed, d.Close())
		require.Equal(t, net.ErrClosed, receive(t, done).err)
		_, err := d.Write([]byte("x"))
		require.Equal(t, net.ErrClosed, err)
		require.Equal(t, net.ErrClosed, d.Reset(true))
		taken, _ := d.Arrived(nil, []byte("late"))
		require.True(t, taken, "what arrives after Close is dropped")
		if reset {
			require.Equal(t, "reset", l.wants())
		} else {
			require.Equal(t, "close", l.wants())
		}
	}
}

func TestHalfCloses(t *testing.T) {
	d, l := opened(9)
	done := reads(t, d, 1)
	require.NoError(t, d.CloseRead())
	require.Equal(t, io.EOF, receive(t, done).err)
	require.NoError(t, d.CloseWrite())
	require.NoError(t, d.CloseWrite(), "a second one does nothing")
	_, err := d.Write([]byte("x"))
	require.ErrorIs(t, err, syscall.EPIPE)
	require.Equal(t, "close read, close write", l.wants())
}

func TestWhatWasAskedBeforeTheLineOpened(t *testing.T) {
	d := new(duplex.Duplex)
	d.Unopened()
	writes := make(chan error, 1)
	go func() { _, err := d.Write([]byte("early")); writes <- err }()
	require.NoError(t, d.CloseRead())
	l := &line{room: 9}
	was := d.Open(l, duplex.Window{First: 8, Most: 8, Low: 4})
	require.Equal(t, duplex.State{ReadClosed: true}, was)
	require.NoError(t, receive(t, writes))
	require.Equal(t, "early", l.took())
}

func TestSurrenderNeedsAnIdleDuplex(t *testing.T) {
	commits := 0
	commit := func() bool { commits++; return true }
	busy := map[string]func(*duplex.Duplex){
		"bytes are unread": func(d *duplex.Duplex) { d.Arrived(nil, []byte("x")) },
		"a read waits":     func(d *duplex.Duplex) { reads(t, d, 1) },
		"the peer's end":   func(d *duplex.Duplex) { d.Finished(nil) },
		"a write goes on":  func(d *duplex.Duplex) { require.NoError(t, d.BeginWrite()) },
		"it is closed":     func(d *duplex.Duplex) { require.NoError(t, d.Close()) },
		"half of it is":    func(d *duplex.Duplex) { require.NoError(t, d.CloseWrite()) },
		"the line is gone": func(d *duplex.Duplex) { d.Ended(nil) },
	}
	for name, make := range busy {
		d, _ := opened(0)
		make(d)
		require.False(t, d.Surrender(commit), name)
		require.False(t, d.Surrendered())
		d.Ended(nil)
	}
	require.Zero(t, commits)
	d, _ := opened(0)
	require.False(t, d.Surrender(func() bool { return false }))
	require.True(t, d.Surrender(commit))
	taken, pause := d.Arrived(nil, []byte("x"))
	require.False(t, taken, "it is the Line's to keep")
	require.True(t, pause)
	require.Equal(t, net.ErrClosed, d.Close())
}

func TestNotifyEndIsCalledOnce(t *testing.T) {
	d, _ := opened(0)
	ends := 0
	d.NotifyEnd(func() { ends += 10 })
	d.NotifyEnd(func() { ends++ })
	d.Finished(nil)
	d.Ended(nil)
	require.Equal(t, 1, ends)
	d.NotifyEnd(func() { ends++ })
	require.Equal(t, 2, ends, "nothing will arrive any more")
	require.NoError(t, d.Close())
	d.NotifyEnd(func() { ends++ })
	require.Equal(t, 2, ends)
}

func TestAPausedLineIsWatchedForNotifyEnd(t *testing.T) {
	d, l := opened(0)
	ends := 0
	d.Arrived(nil, []byte("12345678"))
	d.NotifyEnd(func() { ends++ })
	require.Equal(t, "watch", l.wants())
	require.True(t, d.TellsEnd())
	d.TellEnd()
	require.False(t, d.TellsEnd())
	d.Ended(syscall.ECONNRESET)
	require.Equal(t, 1, ends)
	n, err := d.Read(make([]byte, 9))
	require.NoError(t, err)
	require.Equal(t, 8, n, "what arrived before is read")
}

type failing struct{}

func (failing) Write(p []byte) (int, error) { return 1, nil }

func TestCopiesSayWhichSideFailed(t *testing.T) {
	d, l := opened(100)
	d.Arrived(nil, []byte("some"))
	d.Finished(nil)
	var b bytes.Buffer
	n, err, readErr := d.CopyTo(&b)
	require.Equal(t, int64(4), n)
	require.NoError(t, errors.Join(err, readErr))
	require.Equal(t, "some", b.String())

	n, err, writeErr := d.CopyFrom(strings.NewReader("there"))
	require.Equal(t, int64(5), n)
	require.NoError(t, errors.Join(err, writeErr))
	require.Equal(t, "there", l.took())
	l.failed = errors.New("broken")
	_, err, writeErr = d.CopyFrom(strings.NewReader("more"))
	require.NoError(t, err)
	require.Equal(t, l.failed, writeErr)

	d, _ = opened(0)
	d.Arrived(nil, []byte("some"))
	_, err, readErr = d.CopyTo(failing{})
	require.Equal(t, io.ErrShortWrite, err)
	require.NoError(t, readErr)
}
