package main

import (
	"context"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// environment is what a reader needs to judge the figures.
type environment struct {
	Date     string            `json:"date"`
	Kernel   string            `json:"kernel"`
	CPU      string            `json:"cpu"`
	CPUs     int               `json:"cpus"`
	Go       string            `json:"go"`
	GCC      string            `json:"gcc"`
	Wrk      string            `json:"wrk"`
	Commit   string            `json:"commit"`   // of this repository
	Versions map[string]string `json:"versions"` // of the peers, by contender
}

func describe(ctx context.Context, root, bin string, chosen []contender) environment {
	e := environment{
		Date:     time.Now().UTC().Format(time.RFC3339),
		Kernel:   readLine("/proc/sys/kernel/osrelease"),
		CPU:      cpuModel(),
		CPUs:     runtime.NumCPU(),
		Go:       runtime.Version(),
		GCC:      firstLine(ctx, root, "gcc", "-dumpfullversion"),
		Commit:   firstLine(ctx, root, "git", "rev-parse", "--short", "HEAD"),
		Versions: map[string]string{},
	}
	if w, _, _ := strings.Cut(firstLine(ctx, root, "wrk", "-v"), " ["); strings.HasPrefix(w, "wrk ") {
		e.Wrk = strings.TrimPrefix(w, "wrk ")
	}
	if firstLine(ctx, root, "git", "status", "--porcelain", "--untracked-files=no") != "" {
		e.Commit += " with changes"
	}
	for _, c := range chosen {
		if info, err := buildinfo.ReadFile(filepath.Join(bin, c.binary)); err == nil && c.module != "" {
			for _, d := range info.Deps {
				if d.Path == c.module {
					e.Versions[c.name] = d.Version
				}
			}
		}
	}
	return e
}

// firstLine is the first line that a command prints, whatever its exit status: wrk -v fails.
func firstLine(ctx context.Context, dir, name string, args ...string) string {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, _ := cmd.Output()
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}

func readLine(path string) string {
	b, _ := os.ReadFile(path)
	return strings.TrimSpace(string(b))
}

func cpuModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := strings.Cut(string(b), "model name")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), ":"))
}
