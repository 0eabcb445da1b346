package eyeballs

import (
	"errors"
	"math"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

var errNone = errors.New("no addresses")

func addrs(names ...string) (all []net.Addr) {
	for _, name := range names {
		all = append(all, &net.UnixAddr{Net: "unix", Name: name})
	}
	return all
}

// A run is a race whose attempts have the names of their addresses.
type run struct {
	*Race
	attempts map[string]*Attempt
}

func start(delay time.Duration, names ...string) *run {
	return &run{New(addrs(names...), delay, false, nil), map[string]*Attempt{}}
}

// due begins an attempt to each address that is due, and returns their names.
func (r *run) due(now, end time.Duration) (names string) {
	for addr, ok := r.Next(now); ok; addr, ok = r.Next(now) {
		name := addr.String()
		names += name
		r.attempts[name] = new(Attempt)
		r.Begun(r.attempts[name], now, end)
	}
	return names
}

func (r *run) fails(t *testing.T, name string, now time.Duration) {
	require.True(t, r.Over(r.attempts[name]), "%s is live", name)
	r.Failed(addrs(name)[0], errors.New("refused"), now)
}

func TestAttemptsBeginADelayApart(t *testing.T) {
	for name, c := range map[string]struct{ delay, apart time.Duration }{
		"by default":     {0, 250 * ms},
		"as configured":  {70 * ms, 70 * ms},
		"never together": {1, 10 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(c.delay, "a", "b", "c")
			require.Equal(t, "a", r.due(1000*ms, 0))
			require.Equal(t, 1000*ms+c.apart, r.Wake())
			require.Empty(t, r.due(r.Wake()-1, 0))
			require.Equal(t, "b", r.due(r.Wake(), 0))
			require.Equal(t, "c", r.due(r.Wake(), 0))
			require.Zero(t, r.Wake(), "nothing more is to begin")
			require.False(t, r.Lost())
		})
	}
}

func TestTheNextAttemptBeginsWhenOneFails(t *testing.T) {
	r := start(0, "a", "b", "c", "d")
	r.due(0, 0)
	r.due(250*ms, 0)
	r.fails(t, "a", 300*ms)
	require.Equal(t, "c", r.due(300*ms, 0), "b is live, and c begins beside it")
	require.Equal(t, 550*ms, r.Wake())
	r.fails(t, "b", 310*ms)
	r.fails(t, "c", 320*ms)
	require.Equal(t, "d", r.due(320*ms, 0))
	require.False(t, r.Lost())
	r.fails(t, "d", 330*ms)
	require.Empty(t, r.due(330*ms, 0))
	require.True(t, r.Lost())
}

// An attempt that never began is a failure like any other; beside one that is live the next
// begins in the next round.
func TestAnAddressWithoutASocketFailsAtOnce(t *testing.T) {
	r := start(0, "a", "b", "c")
	addr, ok := r.Next(5 * ms)
	require.True(t, ok)
	r.Failed(addr, errors.New("no socket"), 6*ms)
	require.Equal(t, "b", r.due(5*ms, 0), "no attempt is live")
	addr, ok = r.Next(255 * ms)
	require.True(t, ok)
	r.Failed(addr, errors.New("no socket"), 256*ms)
	require.False(t, r.Lost(), "b is live")
}

func TestOneAfterTheOtherEachHasAShareOfTheTime(t *testing.T) {
	r := start(-1, "a", "b", "c")
	require.Equal(t, "a", r.due(0, 30*time.Second))
	require.Equal(t, 10*time.Second, r.Wake())
	require.Empty(t, r.due(time.Hour, 0), "one at a time")
	a := r.attempts["a"]
	require.False(t, a.Overdue(10*time.Second-1))
	require.True(t, a.Overdue(10*time.Second))
	r.fails(t, "a", 10*time.Second)
	require.False(t, a.Overdue(10*time.Second), "it is given up")

	require.Equal(t, "b", r.due(27*time.Second, 30*time.Second))
	require.Equal(t, 29*time.Second, r.Wake(), "a share is at least 2 s")
	r.fails(t, "b", 29*time.Second)
	require.Equal(t, "c", r.due(29*time.Second, 30*time.Second))
	require.Equal(t, 30*time.Second, r.Wake(), "if there is as much")

	r = start(-1, "a", "b")
	r.due(0, 0)
	require.Zero(t, r.Wake(), "without an end an attempt has all the time")
	require.False(t, r.attempts["a"].Overdue(math.MaxInt64))
}

func TestADelayBeyondTheLargestTimeIsTheLargest(t *testing.T) {
	r := start(math.MaxInt64, "a", "b")
	r.due(time.Second, 0)
	require.Equal(t, time.Duration(math.MaxInt64), r.Wake())
	require.Empty(t, r.due(time.Hour, 0))
}

func TestAnAnswerBringsAddressesOnce(t *testing.T) {
	r := &run{New(addrs("a", "x"), 0, true, nil), map[string]*Attempt{}}
	require.Equal(t, "a", r.due(0, 0))
	r.fails(t, "a", 0)
	require.False(t, r.Lost(), "the answer is awaited")
	require.True(t, r.Found(addrs("b")))
	require.False(t, r.Found(addrs("c")))
	require.Equal(t, "b", r.due(0, 0), "what was not tried yet is replaced")
	r.fails(t, "b", 0)
	require.True(t, r.Lost())
	require.Empty(t, r.due(time.Hour, 0))
	require.False(t, start(0, "a").Found(addrs("b")), "all are known")
}

func TestAnAttemptEndsOnce(t *testing.T) {
	r := start(0, "a", "b")
	r.due(0, 0)
	require.True(t, r.Over(r.attempts["a"]))
	require.False(t, r.Over(r.attempts["a"]))
	require.False(t, r.Over(new(Attempt)), "it never began")
}

func TestErrors(t *testing.T) {
	source, target := addrs("here")[0], addrs("there")[0]
	r := New(addrs("a", "b"), 0, false, source)
	err := r.Err(target, errNone)
	require.ErrorIs(t, err, errNone)
	require.EqualError(t, err, "dial unix here->there: no addresses")

	r.Failed(addrs("a")[0], errors.New("refused"), 0)
	require.EqualError(t, r.Err(target, errNone), "dial unix here->a: refused")

	r.Failed(addrs("b")[0], os.ErrDeadlineExceeded, 0)
	err = r.Err(target, errNone)
	require.EqualError(t, err, "dial unix here->there: a: refused; b: i/o timeout")
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout())
}
