// Package gateway proxies HTTP/1.1, request by request.
package gateway

import (
	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/proxy/internal/relay"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
)

// New is the handler of a route's connections.
func New(r *route.Route) conn.Handler {
	var t relay.Table
	t.Add(r)
	return relay.Streams(&t)
}
