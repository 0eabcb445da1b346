// Package reactortest is the conformance suite of [reactor.Reactor]: the behavior that every
// backend must have, each under a name. A backend's tests are
//
//	for _, b := range reactortest.Backends(t) {
//		t.Run(b.Name, func(t *testing.T) { reactortest.Run(t, b) })
//	}
//
// A backend that cannot be opened by its name (for example one over an emulated kernel) has its own
// Backend value. Other packages use [Backends] to run their tests on every backend that starts
// here.
//
// The suite owns one side of each connection and drives it through the reactor. The other side is
// an ordinary [net.Conn]. It waits only for conditions. If an event never comes, the test fails
// with a dump of the completions that came instead. Every completion is checked against the
// contract: it belongs to an operation in flight, ends it at most once, and carries the results
// that its kind promises.
//
// sockets_*.go and packets_*.go have the platform-specific part.
package reactortest
