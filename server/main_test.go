package server_test

import (
	"os"
	"testing"

	"github.com/suiro-go/suiro/internal/testmode"
)

// A lost wake-up hangs.
func TestMain(m *testing.M) {
	testmode.EndlessParks.Store(true)
	os.Exit(m.Run())
}
