package proxy

import (
	"os"
	"testing"

	"github.com/suiro-go/suiro/internal/testmode"
)

func TestMain(m *testing.M) {
	testmode.EndlessParks.Store(true) // a wake-up that is lost hangs
	os.Exit(m.Run())
}
