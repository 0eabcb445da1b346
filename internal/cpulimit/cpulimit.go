// Package cpulimit reads the CPU limit of the process's container: the quota of its control group,
// and of those above it, on Linux. On other systems there is none.
//
// Go reads the quota of the process's own group and sets GOMAXPROCS by it, unless a user has set
// GOMAXPROCS.
package cpulimit

import (
	"path"
	"strconv"
	"strings"
)

// limit is the lowest quota in CPUs; false: there is none, or it cannot be read. read returns the
// contents of a file.
func limit(read func(name string) (string, error)) (cpus float64, ok bool) {
	groups, err := read("/proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	mounts, err := read("/proc/self/mountinfo")
	if err != nil {
		return 0, false
	}
	group, v1, found := parseGroups(groups)
	if !found {
		return 0, false
	}
	mount, rel, found := parseMounts(mounts, group, v1)
	if !found {
		return 0, false
	}
	for { // from the process's own group up to the mount
		if q, found := quota(read, path.Join(mount, rel), v1); found && (!ok || q < cpus) {
			cpus, ok = q, true
		}
		if rel == "/" {
			return cpus, ok
		}
		rel = path.Dir(rel)
	}
}

// quota is that of one group.
func quota(read func(name string) (string, error), dir string, v1 bool) (cpus float64, ok bool) {
	if !v1 {
		text, err := read(dir + "/cpu.max")
		if err != nil {
			return 0, false
		}
		allowed, period, _ := strings.Cut(strings.TrimSpace(text), " ")
		return ratio(allowed, period)
	}
	allowed, err := read(dir + "/cpu.cfs_quota_us")
	if err != nil {
		return 0, false
	}
	period, err := read(dir + "/cpu.cfs_period_us")
	if err != nil {
		return 0, false
	}
	return ratio(strings.TrimSpace(allowed), strings.TrimSpace(period))
}

// ratio is the CPUs of a quota per period, both in µs; false: "max" and -1, which are no limit.
func ratio(quota, period string) (cpus float64, ok bool) {
	q, err := strconv.ParseInt(quota, 10, 64)
	if err != nil || q <= 0 {
		return 0, false
	}
	p, err := strconv.ParseInt(period, 10, 64)
	if err != nil || p <= 0 {
		return 0, false
	}
	return float64(q) / float64(p), true
}

// parseGroups finds the group that limits the CPU in lines like these: that of version 1 which has
// the controller, else that of version 2, which has number 0.
//
//	4:cpu,cpuacct:/docker/1234
//	0::/docker/1234
func parseGroups(text string) (group string, v1, ok bool) {
	for line := range strings.Lines(text) {
		number, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, name, _ := strings.Cut(rest, ":")
		switch {
		case !strings.HasPrefix(name, "/"):
		case hasCPU(controllers):
			return name, true, true
		case number == "0":
			group, ok = name, true
		}
	}
	return group, false, ok
}

func hasCPU(controllers string) bool {
	for c := range strings.SplitSeq(controllers, ",") {
		if c == "cpu" {
			return true
		}
	}
	return false
}

// parseMounts finds where the group's hierarchy is mounted, and the group's path below the mount,
// in lines like this one:
//
//	35 31 0:29 /docker /sys/fs/cgroup/cpu rw,relatime master:1 - cgroup cgroup rw,cpu
func parseMounts(text, group string, v1 bool) (mount, rel string, ok bool) {
	for line := range strings.Lines(text) {
		place, system, found := strings.Cut(line, " - ")
		at, of := strings.Fields(place), strings.Fields(system)
		if !found || len(at) < 5 || len(of) < 3 {
			continue
		}
		if v1 && (of[0] != "cgroup" || !hasCPU(of[2])) || !v1 && of[0] != "cgroup2" {
			continue
		}
		root := unescape(at[3])
		rel, found := strings.CutPrefix(group, strings.TrimSuffix(root, "/"))
		if !found || rel != "" && rel[0] != '/' || rel == "/.." || strings.HasPrefix(rel, "/../") {
			continue // the group is out of reach from this mount
		}
		return unescape(at[4]), path.Clean("/" + rel), true
	}
	return "", "", false
}

// unescape replaces the octal numbers by which mountinfo has spaces and the like: \040.
func unescape(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		if len(s) >= 4 && s[0] == '\\' {
			if n, err := strconv.ParseUint(s[1:4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				s = s[4:]
				continue
			}
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}
