package server

import "os"

// dumpSignal asks for a report; nil: the system has no such signal.
var dumpSignal os.Signal
