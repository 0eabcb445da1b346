package proxy

import (
	"testing"

	"github.com/suiro-go/suiro/internal/leaks"
	"github.com/suiro-go/suiro/internal/testmode"
)

func TestMain(m *testing.M) {
	testmode.EndlessParks.Store(true) // a wake-up that is lost hangs
	leaks.Exit(m.Run())
}
