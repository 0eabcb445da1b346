package reactor_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/reactor/reactortest"
)

// faultClasses are faults of which the contract lets nobody notice more than that an
// operation has to be submitted again.
var faultClasses = []struct {
	name  string
	rules []faults.Rule
}{
	{"interrupted", rulesFor(unix.EINTR, 0.2, faults.Accept, faults.Connect, faults.Recv, faults.Send,
		faults.RecvFrom, faults.Wait, faults.WakeRead, faults.WakeWrite)},
	{"not ready after all", rulesFor(unix.EAGAIN, 0.2, faults.Accept, faults.Recv, faults.Send, faults.RecvFrom, faults.WakeRead)},
	{"no memory for buffers", rulesFor(unix.ENOBUFS, 0.2, faults.Recv, faults.Send, faults.RecvFrom)},
	{"aborted in the backlog", rulesFor(unix.ECONNABORTED, 0.3, faults.Accept)},
	{"short", rulesFor(0, 0.4, faults.Accept, faults.Recv, faults.Send, faults.RecvFrom, faults.SendTo)},
	{"no timer", []faults.Rule{{Call: faults.Timer, Errno: unix.EMFILE, Every: 1}}},
	{"the ring is busy", append(rulesFor(unix.EBUSY, 0.2, faults.Wait), rulesFor(unix.EAGAIN, 0.2, faults.Wait)...)},
}

func rulesFor(errno unix.Errno, odds float64, calls ...faults.Call) (rules []faults.Rule) {
	for _, c := range calls {
		rules = append(rules, faults.Rule{Call: c, Errno: errno, Odds: odds})
	}
	return rules
}

// faultSeed is that of SUIRO_FAULTS_SEED, to repeat a failure, or a new one.
func faultSeed(t *testing.T) uint64 {
	seed, err := strconv.ParseUint(os.Getenv("SUIRO_FAULTS_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	return seed
}

func TestConformanceUnderFaults(t *testing.T) {
	for _, b := range reactortest.Complete(t) {
		for _, class := range faultClasses {
			if class.name == "the ring is busy" && b.Name == "epoll" {
				continue // epoll_wait has no such errors
			}
			t.Run(b.Name+", "+strings.ReplaceAll(class.name, " ", "_"), func(t *testing.T) {
				plan := faults.New(faultSeed(t), class.rules...)
				defer func() {
					if t.Failed() {
						t.Log(plan)
					}
				}()
				b := b
				b.Config.Faults = plan
				reactortest.Run(t, b)
				require.Positive(t, plan.Total(), "%v", plan)
				t.Log(plan)
			})
		}
	}
}
