package proxy

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/suiro-go/suiro/examples/proxy/internal/status"
)

// A page is what the console serves, by the newest guard. show is called before the first request.
type page struct{ now atomic.Pointer[guarded] }

// guarded are the pages behind one guard.
type guarded struct {
	guard    status.Guard
	pages    http.Handler
	replaced context.Context
	end      context.CancelFunc
}

// show replaces the guard of later requests. If it is another one, live streams end, whose clients
// have passed the one before.
func (g *page) show(p *Proxy, guard status.Guard) {
	old := g.now.Load()
	if old != nil && old.guard.Token == guard.Token && slices.Equal(old.guard.Hosts, guard.Hosts) {
		return
	}
	n := &guarded{guard: guard, pages: guard.Cover(status.Handler(p, guard.Hosts))}
	n.replaced, n.end = context.WithCancel(context.Background())
	g.now.Store(n)
	if old != nil {
		old.end()
	}
}

// ServeHTTP implements http.Handler.
func (g *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := g.now.Load()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(now.replaced, cancel)()
	now.pages.ServeHTTP(w, r.WithContext(ctx))
}
