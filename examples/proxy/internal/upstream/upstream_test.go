package upstream

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
)

func set(t *testing.T, r *Registry, route *config.Route, weights ...int) *Set {
	t.Helper()
	for i, w := range weights {
		route.Upstreams = append(route.Upstreams, &config.Upstream{Address: config.Address{Scheme: "tcp", Host: fmt.Sprintf("u%d:1", i)}, Weight: w})
	}
	sets, commit := r.Sets([]*config.Route{route})
	commit()
	return sets[route]
}

var client = netip.MustParseAddr("192.0.2.1")

// turns is whose turns the next n were.
func turns(t *testing.T, s *Set, n int) string {
	t.Helper()
	var seen string
	for range n {
		u, err := s.Pick(client, nil)
		require.NoError(t, err)
		seen += u.Address.Host[1:2]
	}
	return seen
}

func TestRoundRobinFollowsTheWeightsSmoothly(t *testing.T) {
	require.Equal(t, "012012", turns(t, set(t, new(Registry), &config.Route{}, 0, 0, 0), 6))
	require.Equal(t, "0010200", turns(t, set(t, new(Registry), &config.Route{}, 5, 1, 1), 7))
}

func TestLeastConnectionsCountsForTheWeight(t *testing.T) {
	s := set(t, new(Registry), &config.Route{Balance: config.LeastConnections}, 2, 1)
	var got string
	for range 6 {
		u, err := s.Pick(client, nil)
		require.NoError(t, err)
		got += u.Address.Host[1:2]
	}
	require.Len(t, got, 6)
	require.EqualValues(t, 4, s.members[0].active.Load(), got)
	require.EqualValues(t, 2, s.members[1].active.Load(), got)
}

func TestASourceStaysWithItsUpstreamAndOnlyThoseOfOneThatGoesMove(t *testing.T) {
	s := set(t, new(Registry), &config.Route{Balance: config.SourceHash}, 1, 1, 2)
	before := map[netip.Addr]*Upstream{}
	counts := map[*Upstream]int{}
	for i := range 4000 {
		a := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		u, err := s.Pick(a, nil)
		require.NoError(t, err)
		again, _ := s.Pick(a, nil)
		require.Same(t, u, again)
		before[a] = u
		counts[u]++
	}
	all := s.All()
	require.InDelta(t, 1000, counts[all[0]], 150)
	require.InDelta(t, 2000, counts[all[2]], 200)
	for range 3 {
		all[1].Failed(errors.New("refused"))
	}
	for a, u := range before {
		now, err := s.Pick(a, nil)
		require.NoError(t, err)
		if u == all[1] {
			require.NotSame(t, u, now)
		} else {
			require.Same(t, u, now)
		}
	}
}

func TestOneThatFailsIsLeftAloneForAWhileAndASuccessHealsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := set(t, new(Registry), &config.Route{}, 1, 1)
		u := s.All()[0]
		for range 2 {
			u.Failed(errors.New("refused"))
		}
		require.True(t, u.State().Healthy)
		u.Failed(errors.New("refused"))
		require.False(t, u.State().Healthy)
		require.Equal(t, "refused", u.State().Why)
		require.Equal(t, "1111", turns(t, s, 4))
		time.Sleep(10 * time.Second)
		require.Contains(t, turns(t, s, 4), "0")
		u.Failed(errors.New("refused")) // the first that is tried tells
		require.False(t, u.State().Healthy)
		u.Succeeded()
		require.True(t, u.State().Healthy)
	})
}

func TestWhatHasNotAnsweredIsNotHealedByAConnection(t *testing.T) {
	u := &Upstream{}
	for range 3 {
		u.OpenedUnheard()
		u.Failed(errors.New("refused"))
	}
	require.False(t, u.State().Healthy)
	u.OpenedUnheard()
	require.False(t, u.State().Healthy)
	u.Succeeded()
	require.True(t, u.State().Healthy)
}

func TestOneThatIsAskedComesBackWithAnAnswerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := set(t, new(Registry), &config.Route{Health: config.Health{Fails: 1, Interval: config.Duration(time.Second)}}, 1, 1)
		u := s.All()[0]
		require.True(t, u.answered(errors.New("503")))
		time.Sleep(time.Hour)
		require.False(t, u.State().Healthy)
		require.False(t, u.answered(errors.New("503")))
		require.True(t, u.answered(nil))
		require.True(t, u.State().Healthy)
	})
}

// An upstream that fails its health checks is drained or half broken, although it still takes
// connections.
func TestRequestsThatSucceedDoNotOutweighHealthChecksThatFail(t *testing.T) {
	s := set(t, new(Registry), &config.Route{Health: config.Health{Interval: config.Duration(time.Second)}}, 1, 1)
	u := s.All()[0]
	for range 2 {
		require.False(t, u.answered(errors.New("503")))
		u.Opened()
	}
	require.True(t, u.answered(errors.New("503")), "the third in a row")
	u.Opened()
	require.False(t, u.State().Healthy)
	require.Equal(t, "503", u.State().Why)
	require.Equal(t, "1111", turns(t, s, 4))
	require.True(t, u.answered(nil))
	require.False(t, u.answered(errors.New("503")), "the first in a row")
}

func TestNobodyIsTriedTwiceAndAllAreTriedWhenNoneIsWell(t *testing.T) {
	s := set(t, new(Registry), &config.Route{}, 1, 1)
	for _, u := range s.All() {
		for range 3 {
			u.Failed(errors.New("refused"))
		}
	}
	first, err := s.Pick(client, nil)
	require.NoError(t, err)
	second, err := s.Pick(client, []*Upstream{first})
	require.NoError(t, err)
	require.NotSame(t, first, second)
	_, err = s.Pick(client, []*Upstream{first, second})
	require.ErrorIs(t, err, ErrNone)
}

func TestAReloadKeepsWhatIsKnown(t *testing.T) {
	var r Registry
	old := set(t, &r, &config.Route{}, 1, 1).All()
	again := set(t, &r, &config.Route{}, 3).All()
	require.Len(t, again, 1)
	require.Same(t, old[0], again[0])
	anew := set(t, &r, &config.Route{}, 1, 1).All()
	require.NotSame(t, old[1], anew[1])
}

func TestOfSeveralRoutesOneThatAsksKnowsBest(t *testing.T) {
	to := []*config.Upstream{{Address: config.Address{Scheme: "tcp", Host: "u:1"}}}
	asks := &config.Route{Upstreams: to, Health: config.Health{Interval: 1, Fails: 1}}
	for _, routes := range [][]*config.Route{{asks, {Upstreams: to}}, {{Upstreams: to}, asks}} {
		sets, commit := new(Registry).Sets(routes)
		commit()
		u := sets[asks].All()[0]
		u.Failed(errors.New("refused"))
		u.Succeeded()
		require.False(t, u.State().Healthy, "only an answer heals it")
	}
}

func TestALocalFailureIsNotCountedAgainstAnUpstream(t *testing.T) {
	u := set(t, new(Registry), &config.Route{Health: config.Health{Fails: 1, Eject: config.Duration(time.Hour)}}, 1).All()[0]
	fail := func(e syscall.Errno) {
		u.Failed(&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", e)})
	}
	for _, e := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EADDRNOTAVAIL} {
		fail(e)
		require.True(t, u.State().Healthy, e)
	}
	require.Zero(t, u.State().Failures)
	fail(syscall.ECONNREFUSED)
	require.False(t, u.State().Healthy)
}
