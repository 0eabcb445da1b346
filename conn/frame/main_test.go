package frame_test

import (
	"os"
	"testing"

	"github.com/suiro-go/suiro/internal/testmode"
)

func TestMain(m *testing.M) {
	testmode.EndlessParks.Store(true)
	os.Exit(m.Run())
}
