package reactor_test

import (
	"testing"

	"github.com/suiro-go/suiro/reactor/internal/reactortest"
)

func TestConformance(t *testing.T) {
	for _, b := range reactortest.Backends(t) {
		t.Run(b.Name, func(t *testing.T) { reactortest.Run(t, b) })
	}
}
