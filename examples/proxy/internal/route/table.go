package route

import "strings"

// A Table says which of a listener's routes a connection takes.
type Table struct {
	Rest  *Route            // all other names; nil: nothing
	Names map[string]*Route // by server name, in lower case; nil: nobody looks

	routes []*Route
}

// Add adds a route.
func (t *Table) Add(r *Route) {
	t.routes = append(t.routes, r)
	if len(r.ServerNames) == 0 {
		t.Rest = r
		return
	}
	if t.Names == nil {
		t.Names = map[string]*Route{}
	}
	for _, n := range r.ServerNames {
		t.Names[strings.TrimSuffix(strings.ToLower(n), ".")] = r
	}
}

// Any is one of the routes: settings for connections whose name is not known yet are equal in all
// of them.
func (t *Table) Any() *Route { return t.routes[0] }

// Find is the route of a server name: its own, that of *.parent, or the rest's.
func (t *Table) Find(name string) *Route {
	if r := t.Names[name]; r != nil {
		return r
	}
	if _, parent, ok := strings.Cut(name, "."); ok {
		if r := t.Names["*."+parent]; r != nil {
			return r
		}
	}
	return t.Rest
}

// Full reports whether there are as many connections as all routes together may have, where silent
// ones belong to no route yet. It counts one that is refused so.
func (t *Table) Full(silent int64) bool {
	var most, active int64
	for _, r := range t.routes {
		if r.MaxConnections <= 0 {
			return false
		}
		most += int64(r.MaxConnections)
		active += r.Active.Load()
	}
	if silent+active <= most {
		return false
	}
	t.Any().Refused.Add(1)
	return true
}
