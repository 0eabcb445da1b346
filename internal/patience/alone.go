package patience

import (
	"os"
	"testing"
)

// Alone marks a test that needs the whole machine: it compares durations, or keeps processors from
// other tests. The gate sets SUIRO_ALONE=later, so that the test skips itself. The gate
// runs it with SUIRO_ALONE=now when all other tests have ended. Without the variable it just runs.
//
// Top-level tests call it, not subtests.
func Alone(t *testing.T) {
	if os.Getenv("SUIRO_ALONE") == "later" {
		t.Skip("it runs alone, later")
	}
}
