package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A source is how a binary is made.
type source struct {
	dir  string   // relative to the repository
	argv []string // BIN stands for the binary's path, DIR for a directory that is kept
	made string   // where it is then, within DIR; "": at BIN
	uses string   // a program that is used as it is installed
}

func goBuild(dir, pkg string) source {
	return source{dir: dir, argv: []string{"go", "build", "-o", "BIN", pkg}}
}

func c(name string) source {
	return source{dir: "bench/c", argv: []string{"gcc", "-O2", "-std=gnu11", "-o", "BIN", name + ".c"}}
}

// sourceOf says how a binary is made.
func sourceOf(binary string) source {
	switch binary {
	case "http":
		return goBuild(".", "./examples/http")
	case "proxy":
		return goBuild("examples/proxy", ".")
	case "redis":
		return goBuild(".", "./examples/redis")
	case "load":
		return goBuild("bench/peers", "github.com/suiro-go/suiro/bench/load/cmd/load")
	case "c-uring", "c-epoll", "c-echo":
		return c(strings.TrimPrefix(binary, "c-"))
	case "tokio":
		return source{dir: "bench/peers/tokio", argv: []string{"cargo", "build", "-q", "--release", "--offline", "--target-dir", "DIR"},
			made: "release/tokio-echo"}
	case "nginx", "haproxy":
		return source{uses: binary}
	}
	return goBuild("bench/peers", "./cmd/"+binary)
}

// build makes what the workloads need. It returns the binaries that could not be made, and why.
func build(ctx context.Context, cfg config) (missing map[string]string, err error) {
	missing = map[string]string{}
	began, made := time.Now(), map[string]bool{}
	for _, binary := range append([]string{"load", "serve"}, binariesOf(cfg)...) {
		if made[binary] {
			continue
		}
		made[binary] = true
		if err := sourceOf(binary).make(ctx, cfg, binary); err != nil {
			missing[binary] = err.Error()
			log.Printf("missing: %s: %v", binary, err)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	for _, needed := range []string{"load", "serve"} {
		if missing[needed] != "" {
			return nil, errors.New(missing[needed])
		}
	}
	log.Printf("built %d binaries in %.1f s", len(made), time.Since(began).Seconds())
	return missing, nil
}

func binariesOf(cfg config) (all []string) {
	for _, w := range cfg.workloads {
		for _, name := range contendersOf(cfg, w) {
			if r, ok := find(name, w.Kind); ok && r.file == "" {
				all = append(all, r.binary)
			}
		}
	}
	return all
}

// path is where a recipe's binary is.
func (r recipe) path(cfg config) (string, error) {
	if r.file != "" {
		return r.file, nil
	}
	if uses := sourceOf(r.binary).uses; uses != "" {
		return lookPath(uses)
	}
	return filepath.Join(cfg.Bin, r.binary), nil
}

// lookPath finds servers, which are where only root looks, too.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return exec.LookPath("/usr/sbin/" + name)
	}
	return path, nil
}

func (s source) make(ctx context.Context, cfg config, binary string) error {
	if s.uses != "" {
		_, err := lookPath(s.uses)
		return err
	}
	path := filepath.Join(cfg.Bin, binary)
	replace := strings.NewReplacer("BIN", path, "DIR", path+".d")
	argv := make([]string, len(s.argv))
	for i, a := range s.argv {
		argv[i] = replace.Replace(a)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = filepath.Join(cfg.Root, s.dir)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		said := oneLine(string(out))
		for _, private := range []string{cfg.Bin, cfg.Root} {
			said = strings.ReplaceAll(said, private, ".") // the table is for others to read
		}
		return fmt.Errorf("%s: %w: %s", strings.Join(s.argv, " "), err, said)
	}
	if s.made == "" {
		return nil
	}
	_ = os.Remove(path)
	return os.Link(filepath.Join(path+".d", s.made), path)
}

// oneLine is the first few lines of a tool's output, fit for a table.
func oneLine(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) > 3 {
		lines = append(lines[:3], "…")
	}
	return strings.Join(lines, "; ")
}
