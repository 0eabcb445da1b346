package conntest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/suiro-go/suiro/internal/faults"
)

// FaultSeed is the environment variable that repeats the faults of a test that failed.
const FaultSeed = "SUIRO_FAULTS_SEED"

// Faults is a plan with the seed of FaultSeed, or else a new one, which the log has if
// the test fails.
func Faults(t testing.TB, rules ...faults.Rule) *faults.Plan {
	seed, err := strconv.ParseUint(os.Getenv(FaultSeed), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	plan := faults.New(seed, rules...)
	Report(t, plan.String)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%v; repeat them with %s=%d", plan, FaultSeed, seed)
		}
	})
	return plan
}

// Fail is a rule for each of the calls: it fails with that errno, or with 0 comes up
// short, with those odds.
func Fail(errno syscall.Errno, odds float64, calls ...faults.Call) (rules []faults.Rule) {
	for _, c := range calls {
		rules = append(rules, faults.Rule{Call: c, Errno: errno, Odds: odds})
	}
	return rules
}
