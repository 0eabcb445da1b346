//go:build !linux

package cpulimit

// Limit is the CPU limit of the process's container, in CPUs; false: none is known.
func Limit() (cpus float64, ok bool) { return 0, false }
