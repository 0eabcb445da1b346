package frame_test

import (
	"testing"

	"github.com/suiro-go/suiro/internal/leaks"
	"github.com/suiro-go/suiro/internal/testmode"
)

func TestMain(m *testing.M) {
	testmode.EndlessParks.Store(true)
	leaks.Exit(m.Run())
}
