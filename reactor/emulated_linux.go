//go:build !kqueue

package reactor

// emulated is what tests add: kqueue, with the build tag of that name.
var emulated []backend
