package main

import (
	"context"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// An environment is what a reader needs to judge the figures.
type environment struct {
	Date     string            `json:"date"`
	Kernel   string            `json:"kernel"`
	CPU      string            `json:"cpu"`
	CPUs     int               `json:"cpus"`
	Go       string            `json:"go"`
	GCC      string            `json:"gcc"`
	Commit   string            `json:"commit"`   // of this repository
	Versions map[string]string `json:"versions"` // of the peers, by binary
}

// modules are those whose versions matter, by binary; command serve has all that are raw.
var modules = map[string]string{
	"gnet": "github.com/panjf2000/gnet/v2", "netpoll": "github.com/cloudwego/netpoll", "nbio": "github.com/lesismal/nbio",
	"evio": "github.com/tidwall/evio", "fasthttp": "github.com/valyala/fasthttp",
}

func describe(ctx context.Context, cfg config) environment {
	e := environment{
		Date:     time.Now().UTC().Format(time.RFC3339),
		Kernel:   readLine("/proc/sys/kernel/osrelease"),
		CPU:      cpuModel(),
		CPUs:     runtime.NumCPU(),
		Go:       runtime.Version(),
		GCC:      firstLine(ctx, cfg.Root, "gcc", "-dumpfullversion"),
		Commit:   firstLine(ctx, cfg.Root, "git", "rev-parse", "--short", "HEAD"),
		Versions: map[string]string{},
	}
	if firstLine(ctx, cfg.Root, "git", "status", "--porcelain", "--untracked-files=no") != "" {
		e.Commit += " with changes"
	}
	for name, module := range modules {
		for _, binary := range []string{"serve", name} {
			if v := moduleVersion(filepath.Join(cfg.Bin, binary), module); v != "" {
				e.Versions[name] = v
			}
		}
	}
	if lock, err := os.ReadFile(filepath.Join(cfg.Root, "bench/peers/tokio/Cargo.lock")); err == nil {
		if m := regexp.MustCompile(`name = "tokio"\nversion = "([^"]*)"`).FindSubmatch(lock); m != nil {
			e.Versions["tokio"] = string(m[1])
		}
	}
	for _, name := range []string{"nginx", "haproxy"} {
		if path, err := lookPath(name); err == nil {
			out, _ := exec.CommandContext(ctx, path, "-v").CombinedOutput()
			if m := regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+`).Find(out); m != nil {
				e.Versions[name] = string(m)
			}
		}
	}
	return e
}

func moduleVersion(binary, module string) string {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return ""
	}
	for _, d := range info.Deps {
		if d.Path == module {
			return d.Version
		}
	}
	return ""
}

// versionOf is that of a contender, or "".
func (e environment) versionOf(name string) string {
	family, _, _ := strings.Cut(name, "-") // gnet-naive
	if v := e.Versions[name]; v != "" {
		return v
	}
	return e.Versions[family]
}

// firstLine is the first line that a command prints.
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
