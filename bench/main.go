// Bench measures Suiro beside its peers on this machine:
//
//	go run ./bench -quick
//	go run ./bench -peers gnet,net -workloads http,echo64 -json out.json
//	go run ./bench -h
//
// It needs Linux 5.11 or later, taskset, and two CPUs that nothing else uses; gcc, cargo with Debian's
// librust-tokio-dev, nginx and haproxy for those peers. What cannot be built is named as missing.
//
// This program only builds the one that measures, which is of the peers' module (bench/peers), so that neither
// they nor the load generator enter the graph of a user's module, and becomes it. Binaries stay in the user's
// cache directory. bench/README.md says what is measured.
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
