// Bench measures Suiro beside its peers on this machine:
//
//	go run ./bench -quick
//	go run ./bench -peers gnet,net -workloads http,echo64 -json out.json
//	go run ./bench -h
//
// It needs Linux 5.11 or later, taskset, and two CPUs that nothing else uses. Some peers need gcc,
// cargo with Debian's librust-tokio-dev, nginx or haproxy. A peer that cannot be built is reported
// as missing.
//
// This program only builds the measuring program and becomes it. The measuring program is in a
// module of its own (bench/peers), so the peers and the load generator do not enter the graph of a
// user's module. Binaries stay in the user's cache directory. bench/README.md has the workloads.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the benchmarks run on Linux, not on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	root, err := findRoot()
	if err != nil {
		return err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	bin := filepath.Join(cache, "suiro-bench", strings.ReplaceAll(root, string(filepath.Separator), "_"))
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	exe := filepath.Join(bin, "bench")
	build := exec.Command("go", "build", "-o", exe, "./cmd/bench")
	build.Dir = filepath.Join(root, "bench", "peers")
	build.Env = append(os.Environ(), "GOWORK=off")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build ./cmd/bench in bench/peers: %w", err)
	}
	return become(exe, append([]string{exe, "-root=" + root, "-bin=" + bin}, os.Args[1:]...))
}

// findRoot is the directory of the module that has package bench.
func findRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/suiro-go/suiro").Output()
	root := strings.TrimSpace(string(out))
	if err != nil || root == "" {
		return "", errors.New("run it in a checkout of github.com/suiro-go/suiro")
	}
	return root, nil
}
