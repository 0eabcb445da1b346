package readiness

import "github.com/suiro-go/suiro/internal/atomics"

// A Registration is that of a descriptor with a reactor. It ends with the close of the descriptor,
// or by itself. Each of the two looks whether the other came before: so one of them gives the token
// back, and it is the later one. The zero value is not registered.
type Registration struct {
	word atomics.Uint64
}

const (
	registered uint64 = 1
	shut       uint64 = 2
)

// Begin is called before the registration, by a user of the Life.
func (r *Registration) Begin() { r.word.Or(registered) }

// End is called when the reactor has ended it, or can end it no more. If it returns true the
// descriptor is closed, and the caller gives the token back. A second call returns false.
func (r *Registration) End() (last bool) { return r.word.And(^registered) == registered|shut }

// Close is called by the last user of the Life, which closes the descriptor. If it returns true the
// close must end the registration. Otherwise the caller gives the token back.
func (r *Registration) Close() (lives bool) { return r.word.Or(shut)&registered != 0 }
