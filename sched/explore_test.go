package sched

import "testing"

// A path is a state and how it was reached.
type path[S comparable] struct {
	state S
	from  *path[S]
}

func (p *path[S]) states() (all []S) {
	for ; p != nil; p = p.from {
		all = append([]S{p.state}, all...)
	}
	return all
}

// explore visits every state that can be reached from start, and returns the
// way to the first one that is wrong, or nil. next gives the states one atomic
// step away: none means that everything has come to rest.
func explore[S comparable](t *testing.T, start S, next func(S) []S, wrong func(s S, atRest bool) bool) []S {
	t.Helper()
	seen := map[S]bool{start: true}
	todo := []*path[S]{{state: start}}
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		following := next(p.state)
		if wrong(p.state, len(following) == 0) {
			return p.states()
		}
		for _, s := range following {
			if !seen[s] {
				seen[s] = true
				todo = append(todo, &path[S]{state: s, from: p})
			}
		}
	}
	t.Logf("%d states", len(seen))
	return nil
}
