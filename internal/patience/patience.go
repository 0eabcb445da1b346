// Package patience says how long tests wait for a condition, and which tests run alone.
package patience

import (
	"os"
	"strconv"
	"time"
)

// Limit is how long a condition may take to become true: a minute, three minutes under the race
// detector. The environment variable SUIRO_PATIENCE, a positive number, multiplies it. Limit
// asserts no speed: a test that reaches it hangs.
var Limit = scaled(os.Getenv("SUIRO_PATIENCE"))

func scaled(factor string) time.Duration {
	limit := time.Minute
	if underRace {
		limit *= 3
	}
	if f, err := strconv.ParseFloat(factor, 64); err == nil && f > 0 {
		limit = time.Duration(float64(limit) * f)
	}
	return limit
}
