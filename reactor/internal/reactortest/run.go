package reactortest

import (
	"testing"

	"github.com/suiro-go/suiro/reactor"
)

// A behavior is one property of every backend.
type behavior struct {
	name string
	test func(t *testing.T, b Backend)
}

// Run tries every behavior on the backend, each as a sub-test.
func Run(t *testing.T, b Backend) {
	for _, group := range [][]behavior{
		accepting, connecting, receiving, sending, readiness,
		watchEdges, watchStreams, watchRoom, watchEnds, watchReuse, watchFull, watchRescue, watchFaults,
		hangingUp, canceling, reusing, starving, waking, waiting, interrupting,
		overflowing, refusing, closing, rescuing, losing, lending, mixing,
		datagrams, datagramErrors, datagramMemory,
	} {
		for _, v := range group {
			t.Run(v.name, func(t *testing.T) { v.test(t, b) })
		}
	}
}

// onNetworks is the behavior on every kind of socket.
func onNetworks(name string, test func(t *testing.T, b Backend, network string)) behavior {
	return behavior{name, func(t *testing.T, b Backend) {
		for _, network := range networks {
			t.Run(network, func(t *testing.T) {
				requireNetwork(t, network)
				test(t, b, network)
			})
		}
	}}
}

// scarce is a reactor with little memory to receive into.
var scarce = reactor.Config{Entries: 64, Buffers: 4, BufferSize: 4096}

// small is a reactor that costs little to open.
var small = reactor.Config{Entries: 64, Buffers: 4, BufferSize: 16 << 10}
