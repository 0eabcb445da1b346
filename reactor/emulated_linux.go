//go:build !kqueue

package reactor

// emulated is the backends that tests add: kqueue, with the build tag kqueue.
var emulated []backend
