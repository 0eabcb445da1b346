package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ticks per second of the times in /proc: USER_HZ, 100 on every Linux that Go runs on.
const ticks = 100

// cpuTimes are seconds of CPU at one moment.
type cpuTimes struct {
	user, sys float64 // of the server's process, all its threads
	busy      float64 // of its CPU, whoever used it
}

func readCPU(pid, cpu int) (cpuTimes, error) {
	var t cpuTimes
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return t, err
	}
	if t.user, t.sys, err = parseStat(stat); err != nil {
		return t, err
	}
	all, err := os.ReadFile("/proc/stat")
	if err != nil {
		return t, err
	}
	t.busy, err = parseBusy(all, cpu)
	return t, err
}

// parseStat reads utime and stime, fields 14 and 15 of proc_pid_stat(5), and refuses a dead process.
func parseStat(stat []byte) (user, sys float64, err error) {
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the command's name may hold anything
	if len(f) < 13 {
		return 0, 0, fmt.Errorf("odd /proc/PID/stat: %q", stat)
	}
	if f[0][0] == 'Z' || f[0][0] == 'X' {
		return 0, 0, errors.New("the process has exited")
	}
	u, err1 := strconv.ParseUint(string(f[11]), 10, 64)
	s, err2 := strconv.ParseUint(string(f[12]), 10, 64)
	return float64(u) / ticks, float64(s) / ticks, errors.Join(err1, err2)
}

// parseBusy reads how long a CPU was neither idle nor waiting, from proc_stat(5).
func parseBusy(stat []byte, cpu int) (float64, error) {
	prefix := "cpu" + strconv.Itoa(cpu) + " "
	for line := range strings.Lines(string(stat)) {
		if !strings.HasPrefix(line, prefix) {
			continue
		}
		var busy uint64
		for i, f := range strings.Fields(line)[1:] {
			if i == 3 || i == 4 || i > 7 { // idle, iowait; guest times are part of user
				continue
			}
			n, err := strconv.ParseUint(f, 10, 64)
			if err != nil {
				return 0, err
			}
			busy += n
		}
		return float64(busy) / ticks, nil
	}
	return 0, fmt.Errorf("there is no CPU %d", cpu)
}

// hasRing says whether a process holds an io_uring.
func hasRing(pid int) (bool, error) {
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return false, err
	}
	if len(links) == 0 {
		return false, errors.New("the process has no descriptors that we may see")
	}
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && to == "anon_inode:[io_uring]" {
			return true, nil
		}
	}
	return false, nil
}
