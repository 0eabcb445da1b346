// Package reactortest is the conformance suite of [reactor.Reactor]: what
// every backend must do, each behaviour by its name. A backend's tests are
//
//	for _, b := range reactortest.Backends(t) {
//		t.Run(b.Name, func(t *testing.T) { reactortest.Run(t, b) })
//	}
//
// and a backend that cannot be opened by its name (one over an emulated
// kernel, say) brings a Backend of its own. Other packages use [Backends] to
// run their tests on every backend that starts here.
//
// The suite owns one side of each connection and works it through the reactor;
// the other side is an ordinary [net.Conn]. It waits for conditions only, and
// what never comes fails with a dump of what came instead. Every completion is
// held against the contract on the way in: it belongs to an operation in
// flight, ends it at most once, and carries what its kind promises.
//
// What the platform must provide is in sockets_*.go and packets_*.go.
package reactortest
