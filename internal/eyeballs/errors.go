package eyeballs

import (
	"net"
	"slices"
	"strings"
)

// Err is why a race to target has no winner: a *net.OpError, that of the attempt if there was only
// one. If there was no address, it says none.
func (r *Race) Err(target net.Addr, none error) error {
	err := none
	switch len(r.failed) {
	case 0:
	case 1:
		return r.failed[0]
	default:
		err = allFailed(r.failed)
	}
	return &net.OpError{Op: "dial", Net: target.Network(), Source: r.source, Addr: target, Err: err}
}

// allFailed are the errors of all attempts, each a *net.OpError.
type allFailed []error

func (all allFailed) Error() string {
	var b strings.Builder
	for i, err := range all {
		if i > 0 {
			b.WriteString("; ")
		}
		e := err.(*net.OpError)
		b.WriteString(e.Addr.String() + ": " + e.Err.Error())
	}
	return b.String()
}

func (all allFailed) Unwrap() []error { return all }

// Timeout reports whether one of them has timed out.
func (all allFailed) Timeout() bool {
	return slices.ContainsFunc(all, func(err error) bool { return err.(*net.OpError).Timeout() })
}
