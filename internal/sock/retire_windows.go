package sock

import "errors"

// Retire is what Windows has nothing for.
func Retire(int) error { return errors.ErrUnsupported }
