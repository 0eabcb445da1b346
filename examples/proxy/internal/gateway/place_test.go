package gateway

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
)

// A client that is gone makes no room while its exchange is under way, nor an exchange
// that has ended while its client stays.
func TestAPlaceIsFreeOnceItsConnectionAndItsExchangeHaveEnded(t *testing.T) {
	r := &route.Route{Route: &config.Route{MaxConnections: 1}, Counts: new(route.Counts)}
	require.True(t, r.Admit())
	p := &place{route: r}
	p.take() // the connection
	p.take() // its exchange
	p.leave()
	require.False(t, r.Admit())
	p.take() // the next exchange
	p.leave()
	require.False(t, r.Admit())
	p.leave()
	require.True(t, r.Admit())
}
