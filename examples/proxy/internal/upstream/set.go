package upstream

import (
	"errors"
	"hash/fnv"
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
}

// All are the upstreams.
func (s *Set) All() (all []*Upstream) {
	for _, m := range s.members {
		all = append(all, m.Upstream)
	}
	return all
}

// Pick returns the next upstream for a client, of those that are not in tried. An unhealthy one is
// passed over, unless all are unhealthy: then it is better to try than to refuse. The caller has
// one of the upstream's max_connections from then on, and gives it back by End.
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
	all, healthy := some[:0], well[:0]
	for _, m := range s.members {
		if slices.Contains(tried, m.Upstream) || m.most > 0 && m.active.Load() >= int64(m.most) {
			continue
		}
		all = append(all, m)
		m.mu.Lock()
		ok := m.well(now)
		m.mu.Unlock()
		if ok {
			healthy = append(healthy, m)
		}
	}
	if len(healthy) == 0 {
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

// A Registry has one Upstream for each address, so that its health and its counts outlive a reload.
// The zero value is ready.
type Registry struct {
	mu    sync.Mutex
	known map[config.Address]*Upstream
}

// Sets makes the set of each route, and changes nothing else: the health of upstreams stays
// unchanged until commit is called. commit starts the health checks of the routes, and forgets
// upstreams that are in no set and have no connections. Between the two no other goroutine may call
// Sets.
func (r *Registry) Sets(routes []*config.Route) (sets map[*config.Route]*Set, commit func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := map[config.Address]*Upstream{}
	checks := map[*Upstream]config.Health{}
	sets = map[*config.Route]*Set{}
	for _, route := range routes {
		s := &Set{balance: route.Balance}
		for _, u := range route.Upstreams {
			up := known[u.Address]
			first := up == nil
			if first {
				if up = r.known[u.Address]; up == nil {
					up = &Upstream{Address: u.Address}
				}
				known[u.Address] = up
			}
			if asks := route.Health.Interval > 0; first || asks { // of several routes, one that asks knows best
				checks[up] = route.Health
			}
			h := fnv.New64a()
			_, _ = h.Write([]byte(u.Address.String()))
			s.members = append(s.members, &member{Upstream: up, weight: orInt(u.Weight, 1), most: u.MaxConnections, name: h.Sum64()})
		}
		sets[route] = s
	}
	return sets, func() { r.commit(known, checks) }
}

func (r *Registry) commit(known map[config.Address]*Upstream, checks map[*Upstream]config.Health) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for at, u := range r.known {
		if known[at] == nil && u.active.Load() > 0 { // it may come back, and its connections count then
			known[at] = u
		}
	}
	for u, h := range checks {
		u.mu.Lock()
		u.health, u.asked = h, h.Interval > 0
		u.mu.Unlock()
	}
	r.known = known
}
