package cpulimit

import "github.com/suiro-go/suiro/internal/procfile"

// Limit is the CPU limit of the process's container, in CPUs; false: there is none, or it cannot be
// read. It reads some small files.
func Limit() (cpus float64, ok bool) { return limit(procfile.Read) }
