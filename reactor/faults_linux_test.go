package reactor_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/reactor/reactortest"
)

// faultClasses are faults of which the contract lets nobody notice more than that an
// operation has to be submitted again.
var faultClasses = []struct {
	name  string
	rules []faults.Rule
}{
	{"interrupted", conntest.Fail(unix.EINTR, 0.2, faults.Accept, faults.Connect, faults.Recv, faults.Send,
		faults.RecvFrom, faults.Wait, faults.WakeRead, faults.WakeWrite)},
	{"not ready after all", conntest.Fail(unix.EAGAIN, 0.2, faults.Accept, faults.Recv, faults.Send, faults.RecvFrom, faults.WakeRead)},
	{"no memory for buffers", conntest.Fail(unix.ENOBUFS, 0.2, faults.Recv, faults.Send, faults.RecvFrom)},
	{"aborted in the backlog", conntest.Fail(unix.ECONNABORTED, 0.3, faults.Accept)},
	{"short", conntest.Fail(0, 0.4, faults.Accept, faults.Recv, faults.Send, faults.RecvFrom, faults.SendTo)},
	{"no timer", []faults.Rule{{Call: faults.Timer, Errno: unix.EMFILE, Every: 1}}},
	{"the ring is busy", append(conntest.Fail(unix.EBUSY, 0.2, faults.Wait), conntest.Fail(unix.EAGAIN, 0.2, faults.Wait)...)},
}

func TestConformanceUnderFaults(t *testing.T) {
	for _, b := range reactortest.Complete(t) {
		for _, class := range faultClasses {
			if class.name == "the ring is busy" && b.Name == "epoll" {
				continue // epoll_wait has no such errors
			}
			t.Run(b.Name+", "+strings.ReplaceAll(class.name, " ", "_"), func(t *testing.T) {
				plan := conntest.Faults(t, class.rules...)
				b := b
				b.Config.Faults = plan
				reactortest.Run(t, b)
				require.Positive(t, plan.Total(), "%v", plan)
			})
		}
	}
}
