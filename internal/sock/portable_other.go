//go:build !windows

package sock

// Portable is err: there is one set of numbers here.
func Portable(err error) error { return err }
