package upstream

import (
	"errors"
	"math"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
)

// ErrNone is that there is nobody left to try.
var ErrNone = errors.New("upstream: none is left to be tried")

// A Set is a route's upstreams. Its methods may be called from any goroutine.
type Set struct {
	balance config.Balance
	members []*member

	mu sync.Mutex // guards the members' turn
}

type member struct {
	*Upstream
	weight, most int
	turn         int // of round robin: the upstream that has waited for longest
	name         uint64
	asks         bool // the health checks of its address are this set's
}

// All are the upstreams.
func (s *Set) All() (all []*Upstream) {
	for _, m := range s.members {
		all = append(all, m.Upstream)
	}
	return all
}

// Has reports whether an upstream is in the set.
func (s *Set) Has(u *Upstream) bool {
	return slices.ContainsFunc(s.members, func(m *member) bool { return m.Upstream == u })
}

// follow continues the turns of a set that had some of the upstreams before.
func (s *Set) follow(old *Set) {
	old.mu.Lock()
	defer old.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		for _, o := range old.members {
			if o.Upstream == m.Upstream {
				m.turn = o.turn
			}
		}
	}
}

// Pick returns the next upstream for a client, of those that are not in tried. An unhealthy one is
// passed over, unless all are unhealthy: then it is better to try than to refuse. A healthy one
// with as many connections as it may have is still healthy. The caller has one of the upstream's
// max_connections from then on, and gives it back by End.
func (s *Set) Pick(client netip.Addr, tried []*Upstream) (*Upstream, error) {
	for {
		m, err := s.choose(client, tried)
		if err != nil {
			return nil, err
		}
		if m.begin(m.most) {
			return m.Upstream, nil
		} // others have taken the last place meanwhile: it is not among the next to choose from
	}
}

func (s *Set) choose(client netip.Addr, tried []*Upstream) (*member, error) {
	now := time.Now()
	var some, well [16]*member
	all, healthy, none := some[:0], well[:0], true
	for _, m := range s.members {
		if slices.Contains(tried, m.Upstream) {
			continue
		}
		ok := m.health().well(now)
		none = none && !ok
		if m.most > 0 && m.active.Load() >= int64(m.most) {
			continue
		}
		all = append(all, m)
		if ok {
			healthy = append(healthy, m)
		}
	}
	if none {
		healthy = all
	}
	switch {
	case len(healthy) == 0:
		return nil, ErrNone
	case len(healthy) == 1:
		return healthy[0], nil
	case s.balance == config.SourceHash:
		return byHash(healthy, client), nil
	case s.balance == config.LeastConnections:
		healthy = fewest(healthy)
	}
	return s.next(healthy), nil
}

// next is smooth weighted round robin, as nginx does it: each gains its weight, the
// richest is taken and pays what all have gained.
func (s *Set) next(among []*member) *member {
	s.mu.Lock()
	defer s.mu.Unlock()
	best, total := among[0], 0
	for _, m := range among {
		m.turn += m.weight
		total += m.weight
		if m.turn > best.turn {
			best = m
		}
	}
	best.turn -= total
	return best
}

// fewest are those with the fewest connections for their weight.
func fewest(among []*member) []*member {
	load := func(m *member) float64 { return float64(m.active.Load()) / float64(m.weight) }
	least := math.Inf(1)
	loads := make([]float64, len(among))
	for i, m := range among {
		loads[i] = load(m)
		least = min(least, loads[i])
	}
	rest := among[:0]
	for i, m := range among {
		if loads[i] == least {
			rest = append(rest, m)
		}
	}
	return rest
}

// byHash is rendezvous hashing (Thaler and Ravishankar, 1998), weighted by -w/ln(h): when one goes
// or comes, only its own clients move.
func byHash(among []*member, client netip.Addr) *member {
	var best *member
	most := math.Inf(-1)
	from := client.Unmap().As16()
	for _, m := range among {
		h := m.name
		for _, c := range from {
			h = (h ^ uint64(c)) * 1099511628211
		}
		h ^= h >> 33 // FNV's low bits hardly move its high ones: murmur3's finalizer
		h *= 0xff51afd7ed558ccd
		h ^= h >> 33
		h *= 0xc4ceb9fe1a85ec53
		h ^= h >> 33
		x := (float64(h>>11) + 0.5) / (1 << 53)
		if score := -float64(m.weight) / math.Log(x); score > most {
			best, most = m, score
		}
	}
	return best
}
