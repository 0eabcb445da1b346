package conn

import (
	"testing"

	"github.com/suiro-go/suiro/internal/conntest"
)

func TestMain(m *testing.M) { conntest.Share(m, 4) }
