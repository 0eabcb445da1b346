package sock

import "errors"

// An Inert is what Windows has nothing for: a descriptor's number stays that of its socket.
type Inert struct{}

// Hold does nothing.
func (*Inert) Hold() error { return nil }

// Drop does nothing.
func (*Inert) Drop() {}

// Retire returns errors.ErrUnsupported.
func (*Inert) Retire(int) error { return errors.ErrUnsupported }
