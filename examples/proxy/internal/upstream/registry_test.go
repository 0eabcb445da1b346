package upstream

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
)

// named is a route with upstreams of these hosts.
func named(name string, h config.Health, hosts ...string) *config.Route {
	r := &config.Route{Name: name, Health: h}
	for _, host := range hosts {
		r.Upstreams = append(r.Upstreams, &config.Upstream{Address: config.Address{Scheme: "tcp", Host: host}})
	}
	return r
}

func apply(r *Registry, routes ...*config.Route) map[*config.Route]*Set {
	sets, commit := r.Sets(routes)
	commit()
	return sets
}

func TestTurnsGoOnAfterAReload(t *testing.T) {
	var r Registry
	routes := func() *config.Route { return named("r", config.Health{}, "u0:1", "u1:1", "u2:1") }
	var seen string
	for range 3 { // one request between two reloads
		route := routes()
		seen += turns(t, apply(&r, route)[route], 1)
	}
	require.Equal(t, "012", seen)
	other := named("other", config.Health{}, "u0:1", "u1:1", "u2:1")
	require.Equal(t, "0", turns(t, apply(&r, routes(), other)[other], 1), "another route has turns of its own")
}

func TestARouteThatNamesAnUpstreamTwiceHasItOnce(t *testing.T) {
	route := named("r", config.Health{}, "u0:1", "u1:1", "u0:1")
	route.Upstreams[0].MaxConnections, route.Upstreams[2].MaxConnections = 5, 3
	route.Upstreams = append(route.Upstreams, &config.Upstream{Address: config.Address{Scheme: "http", Host: "u1:1"}})
	s := apply(new(Registry), route)[route]
	require.Len(t, s.All(), 2)
	require.Equal(t, []int{2, 2}, []int{s.members[0].weight, s.members[1].weight}, "the sum")
	require.Equal(t, []int{3, 0}, []int{s.members[0].most, s.members[1].most}, "the strictest")
}

func TestRoutesWithAnUpstreamInCommonShareItsHealthAlone(t *testing.T) {
	a, b := named("a", config.Health{Fails: 1}, "u0:1"), named("b", config.Health{Fails: 1}, "u0:1")
	a.Upstreams[0].MaxConnections, b.Upstreams[0].MaxConnections = 1, 1
	sets := apply(new(Registry), a, b)
	ua, err := sets[a].Pick(client, nil)
	require.NoError(t, err)
	ub, err := sets[b].Pick(client, nil)
	require.NoError(t, err, "max_connections is the route's")
	ua.Opened()
	ua.Failed(errors.New("refused"))
	require.False(t, ub.State().Healthy)
	require.EqualValues(t, 1, ua.State().Opened+ub.State().Opened)
	require.EqualValues(t, 1, ua.State().Failures+ub.State().Failures)
	ua.End()
	require.EqualValues(t, 1, ub.State().Active)
}

func TestAnUpstreamOfSeveralRoutesIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		checks := config.Health{Interval: config.Duration(time.Second)}
		routes := []*config.Route{
			named("none", config.Health{}, "u0:1"), named("a", checks, "u0:1", "u0:1"), named("b", checks, "u0:1"),
		}
		sets := apply(new(Registry), routes...)
		ctx, cancel := context.WithCancel(t.Context())
		var asked atomic.Int64
		dial := func(context.Context, config.Address) (net.Conn, error) {
			asked.Add(1)
			return nil, errors.New("refused")
		}
		for _, r := range routes {
			if r.Health.Interval > 0 {
				go sets[r].Ask(ctx, r.Health, dial, slog.New(slog.DiscardHandler))
			}
		}
		time.Sleep(1500 * time.Millisecond)
		require.EqualValues(t, 2, asked.Load())
		require.True(t, sets[routes[0]].All()[0].State().Healthy, "two failures of three")
		time.Sleep(time.Second)
		for _, r := range routes {
			require.False(t, sets[r].All()[0].State().Healthy, r.Name)
		}
		cancel()
		synctest.Wait()
	})
}

func TestHealthSurvivesAReloadThatChangesItsRule(t *testing.T) {
	long := config.Duration(time.Hour)
	for _, rule := range []config.Health{
		{Fails: 1, Eject: long}, {Fails: 2, Eject: long}, {}, {Fails: 1, Interval: long},
	} {
		var r Registry
		before := named("r", config.Health{Fails: 1, Eject: long}, "u0:1", "u1:1")
		apply(&r, before)[before].All()[0].Failed(errors.New("refused"))
		after := named("r", rule, "u1:1", "u0:1")
		all := apply(&r, after)[after].All()
		require.True(t, all[0].State().Healthy)
		require.False(t, all[1].State().Healthy, "%+v", rule)
		moved := named("another name", rule, "u0:1")
		require.False(t, apply(&r, moved)[moved].All()[0].State().Healthy)
	}
}

// Two routes judge one address by different rules. The change of a rule keeps what its own route
// knows, and not what the other one does.
func TestHealthSurvivesAChangeOfTheRuleOfOneRoute(t *testing.T) {
	long := config.Duration(time.Hour)
	for range 50 { // the order of a map must not matter
		var r Registry
		a, b := named("a", config.Health{Fails: 1, Eject: long}, "u0:1"), named("b", config.Health{Fails: 9, Eject: long}, "u0:1")
		apply(&r, a, b)[a].All()[0].Failed(errors.New("refused"))
		a, b = named("a", config.Health{Fails: 2, Eject: long}, "u0:1"), named("b", config.Health{Fails: 8, Eject: long}, "u0:1")
		sets := apply(&r, a, b)
		require.False(t, sets[a].All()[0].State().Healthy)
		require.True(t, sets[b].All()[0].State().Healthy)
	}
}

func TestAChangeThatIsNotCommittedChangesNothing(t *testing.T) {
	var r Registry
	route := named("r", config.Health{Fails: 2}, "u0:1", "u1:1")
	s := apply(&r, route)[route]
	require.Equal(t, "0", turns(t, s, 1))
	_, _ = r.Sets([]*config.Route{named("r", config.Health{Fails: 1}, "u0:1", "u1:1")})
	s.All()[0].Failed(errors.New("refused"))
	require.True(t, s.All()[0].State().Healthy, "the rule of before")
	require.Equal(t, "1", turns(t, s, 1))
}
