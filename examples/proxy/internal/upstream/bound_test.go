package upstream

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
)

// max_connections holds however many goroutines pick at the same moment.
func TestPickTakesNoMorePlacesThanThereAre(t *testing.T) {
	const most, goroutines, rounds = 3, 16, 2000
	for _, balance := range []config.Balance{config.RoundRobin, config.LeastConnections, config.SourceHash} {
		route := &config.Route{Balance: balance}
		s := set(t, new(Registry), route, 1, 1)
		for _, m := range s.members {
			m.most = most
		}
		var taken [2]atomic.Int64
		var over, none atomic.Int64
		var all sync.WaitGroup
		for range goroutines {
			all.Go(func() {
				for range rounds {
					u, err := s.Pick(client, nil)
					if errors.Is(err, ErrNone) {
						none.Add(1)
						continue
					}
					n := &taken[u.Address.Host[1]-'0']
					if n.Add(1) > most {
						over.Add(1)
					}
					n.Add(-1)
					u.End()
				}
			})
		}
		all.Wait()
		require.Zero(t, over.Load(), balance)
		for _, u := range s.All() {
			require.Zero(t, u.active.Load(), balance)
		}
		for range 2 * most {
			_, err := s.Pick(client, nil)
			require.NoError(t, err, "a refused pick has kept no place")
		}
		_, err := s.Pick(client, nil)
		require.ErrorIs(t, err, ErrNone, balance)
	}
}

// An upstream that is well and has as many connections as it may is no reason to use one that is
// not well.
func TestAnUpstreamThatIsFullDoesNotSendClientsToOneThatIsNotWell(t *testing.T) {
	for _, balance := range []config.Balance{config.RoundRobin, config.LeastConnections, config.SourceHash} {
		s := set(t, new(Registry), &config.Route{Balance: balance}, 1, 1)
		s.members[0].most = 1
		bad := s.All()[1]
		for range 3 {
			bad.Failed(errors.New("refused"))
		}
		u, err := s.Pick(client, nil)
		require.NoError(t, err)
		require.Same(t, s.All()[0], u)
		_, err = s.Pick(client, nil)
		require.ErrorIs(t, err, ErrNone)
		_, err = s.Pick(client, []*Upstream{u})
		require.NoError(t, err, "those that are left are all not well")
		u.End()
		again, err := s.Pick(client, nil)
		require.NoError(t, err)
		require.Same(t, u, again)
	}
}
