package cputime

import (
	"strconv"
	"strings"
	"time"
)

// parseSchedstat is how long a thread has waited for a processor, from the text of
// /proc/self/task/TID/schedstat: nanoseconds that it ran, nanoseconds that it waited, turns.
func parseSchedstat(text string) (queued time.Duration, ok bool) {
	fields := strings.Fields(text)
	if len(fields) < 3 {
		return 0, false
	}
	n, err := strconv.ParseInt(fields[1], 10, 64)
	return time.Duration(n), err == nil && n >= 0
}

// parseStatus is whether a thread is runnable, and how often it has slept, from the text of
// /proc/self/task/TID/status.
func parseStatus(text string) (runnable bool, sleeps uint64, ok bool) {
	found := 0
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "State":
			runnable = strings.HasPrefix(value, "R")
			found++
		case "voluntary_ctxt_switches":
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return false, 0, false
			}
			sleeps = n
			found++
		}
	}
	return runnable, sleeps, found == 2
}
