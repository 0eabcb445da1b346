package packet_test

import "github.com/suiro-go/suiro/internal/testmode"

// Most tests keep workers busy on purpose, so that other tasks wait.
func init() { testmode.NoSpares.Store(true) }
