package reactor_test

import (
	"maps"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/reactor/internal/reactortest"
)

// faultClasses are faults whose only effect, by the contract, is that an operation must be
// submitted again.
var faultClasses = map[string][]faults.Rule{
	"interrupted": conntest.Fail(syscall.EINTR, 0.2, faults.Accept, faults.Connect, faults.Recv, faults.Send,
		faults.RecvFrom, faults.Wait, faults.WakeRead, faults.WakeWrite),
	"not ready after all":    conntest.Fail(syscall.EAGAIN, 0.2, faults.Accept, faults.Recv, faults.Send, faults.RecvFrom, faults.WakeRead),
	"no memory for buffers":  conntest.Fail(syscall.ENOBUFS, 0.2, faults.Recv, faults.Send, faults.RecvFrom),
	"aborted in the backlog": conntest.Fail(syscall.ECONNABORTED, 0.3, faults.Accept),
	"short":                  conntest.Fail(0, 0.4, faults.Accept, faults.Recv, faults.Send, faults.RecvFrom, faults.SendTo),
	"no timer":               {{Call: faults.Timer, Errno: syscall.EMFILE, Every: 1}},
}

// ringFaults are what io_uring_enter says, and epoll_wait does not.
var ringFaults = slices.Concat(conntest.Fail(syscall.EBUSY, 0.2, faults.Wait), conntest.Fail(syscall.EAGAIN, 0.2, faults.Wait),
	conntest.Fail(syscall.ENOMEM, 0.1, faults.Wait), conntest.Fail(syscall.ENOBUFS, 0.1, faults.Wait))

// TestConformanceUnderFaults has all faults at once, or with SUIRO_FAULTS=each each
// class of them by itself, which takes longer.
func TestConformanceUnderFaults(t *testing.T) {
	for _, b := range reactortest.Complete(t) {
		classes := maps.Clone(faultClasses)
		if b.Name == "io_uring" {
			classes["the ring is busy"] = ringFaults
		}
		if b.Name == "kqueue" {
			delete(classes, "no timer") // it has none
		}
		if os.Getenv("SUIRO_FAULTS") != "each" {
			var all []faults.Rule
			for _, name := range slices.Sorted(maps.Keys(classes)) { // the seed's meaning depends on their order
				all = append(all, classes[name]...)
			}
			classes = map[string][]faults.Rule{"all at once": all}
		}
		for name, rules := range classes {
			t.Run(b.Name+", "+name, func(t *testing.T) {
				plan := conntest.Faults(t, rules...)
				b := b
				faults.Into(&b.Config, plan)
				reactortest.Run(t, b)
				require.Positive(t, plan.Total(), "%v", plan)
			})
		}
	}
}
