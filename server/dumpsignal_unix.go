//go:build unix

package server

import (
	"os"
	"syscall"
)

// dumpSignal asks for a report; nil: the system has no such signal.
var dumpSignal os.Signal = syscall.SIGUSR1
