package goid

import (
	"testing"

	"github.com/suiro-go/suiro/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Exit(m.Run()) }
