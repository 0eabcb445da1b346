package upstream

import (
	"hash/fnv"
	"sync"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
)

// A Registry has one Upstream for each address of each route, and one health for each address and
// rule, so that they outlive a reload. The zero value is ready.
type Registry struct {
	mu      sync.Mutex // guards the fields below
	known   map[place]*Upstream
	healths map[config.Address]map[config.Health]*health
	sets    map[string]*Set // by the route's name
}

// A place is an address of a route.
type place struct {
	route string
	at    config.Address
}

// A change is a configuration that a Registry does not have yet.
type change struct {
	known   map[place]*Upstream
	healths map[config.Address]map[config.Health]*health
	sets    map[string]*Set
	of      map[*Upstream]*health
	asked   map[*health]bool
}

// Sets makes the set of each route, and changes nothing else: the health of upstreams stays
// unchanged until commit is called. commit starts the health checks of the routes, and forgets
// upstreams that are in no set and have no connections. Between the two no other goroutine may call
// Sets.
func (r *Registry) Sets(routes []*config.Route) (sets map[*config.Route]*Set, commit func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &change{
		known: map[place]*Upstream{}, healths: map[config.Address]map[config.Health]*health{},
		sets: map[string]*Set{}, of: map[*Upstream]*health{}, asked: map[*health]bool{},
	}
	rules := rulesOf(routes)
	sets = map[*config.Route]*Set{}
	for _, route := range routes {
		s := &Set{balance: route.Balance}
		for _, u := range route.Upstreams {
			r.add(c, s, route, u, rules[endpoint(u.Address)])
		}
		sets[route], c.sets[route.Name] = s, s
	}
	return sets, func() { r.commit(c) }
}

// add adds an upstream to a set. One that the route names again has the sum of the weights, and the
// strictest max_connections.
func (r *Registry) add(c *change, s *Set, route *config.Route, u *config.Upstream, rule config.Health) {
	weight, at := orInt(u.Weight, 1), endpoint(u.Address)
	for _, m := range s.members {
		if endpoint(m.Address) == at {
			m.weight += weight
			if m.most == 0 || u.MaxConnections > 0 && u.MaxConnections < m.most {
				m.most = u.MaxConnections
			}
			return
		}
	}
	if route.Health != (config.Health{}) {
		rule = route.Health
	}
	key := place{route.Name, at}
	up := c.known[key]
	if up == nil {
		if up = r.known[key]; up == nil {
			up = &Upstream{Address: u.Address}
		}
		c.known[key] = up
	}
	m := &member{Upstream: up, weight: weight, most: u.MaxConnections, name: hash(u.Address)}
	h := r.healthOf(c, at, rule)
	if rule.Interval > 0 && route.Health == rule && !c.asked[h] {
		c.asked[h], m.asks = true, true
	}
	c.of[up] = h
	s.members = append(s.members, m)
}

// healthOf is the health of an address under a rule.
func (r *Registry) healthOf(c *change, at config.Address, rule config.Health) *health {
	if c.healths[at] == nil {
		c.healths[at] = map[config.Health]*health{}
	}
	h := c.healths[at][rule]
	if h == nil {
		if h = r.healths[at][rule]; h == nil {
			h = &health{rule: rule, asked: rule.Interval > 0}
		}
		c.healths[at][rule] = h
	}
	return h
}

// rulesOf is the rule of each address for routes that have none of their own: that of a route with
// health checks, or else the first one.
func rulesOf(routes []*config.Route) map[config.Address]config.Health {
	rules := map[config.Address]config.Health{}
	for _, route := range routes {
		for _, u := range route.Upstreams {
			at := endpoint(u.Address)
			if old := rules[at]; old == (config.Health{}) || old.Interval == 0 && route.Health.Interval > 0 {
				rules[at] = route.Health
			}
		}
	}
	return rules
}

func (r *Registry) commit(c *change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hand(c)
	for key, u := range r.known {
		if c.known[key] == nil && u.active.Load() > 0 { // it may come back, and its connections count then
			c.known[key] = u
		}
	}
	for name, s := range c.sets {
		if old := r.sets[name]; old != nil {
			s.follow(old)
		}
	}
	r.known, r.healths, r.sets = c.known, c.healths, c.sets
}

// hand gives the healths of new rules the knowledge of earlier ones. A health follows those that
// its upstreams had before. If they had none, it follows the others of its address. One that is
// down has precedence.
func (r *Registry) hand(c *change) {
	knows := map[*health]bool{}
	follow := func(h, old *health) {
		if old != nil && (!knows[h] || old.isDown()) {
			h.follow(old)
			knows[h] = true
		}
	}
	fresh := map[*health]config.Address{}
	for u, h := range c.of {
		if at := endpoint(u.Address); r.healths[at][h.rule] == nil {
			fresh[h] = at
			follow(h, u.shared.Load())
		}
	}
	for h, at := range fresh {
		if knows[h] {
			continue
		}
		for _, old := range r.healths[at] {
			follow(h, old)
		}
	}
	for u, h := range c.of {
		u.shared.Store(h)
	}
}

// endpoint is an address without the difference between tcp:// and http://, which to connect is
// none.
func endpoint(a config.Address) config.Address {
	if a.Scheme == "http" {
		a.Scheme = "tcp"
	}
	return a
}

func hash(a config.Address) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(a.String()))
	return h.Sum64()
}
