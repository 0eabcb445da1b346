package load

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Resident is the memory of a process that is resident, in bytes, from /proc/PID/smaps_rollup,
// which counts pages where statm is late by some.
func Resident(pid int) (int64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if kib, ok := strings.CutPrefix(lines.Text(), "Rss:"); ok {
			n, err := strconv.ParseInt(strings.Fields(kib)[0], 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("load: %s has no line Rss", f.Name())
}
