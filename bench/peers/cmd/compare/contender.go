package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A contender is a server that can be built and started.
type contender struct {
	name   string
	binary string   // base name; contenders may share one
	dir    string   // where to build, relative to the repository
	build  []string // the command; "BIN" stands for the binary's path
	args   []string
	module string // whose version the report names; "" if it has none
	ring   string // "yes" or "no" if the process must or must not hold an io_uring
}

var anyPort = []string{"-addr", "127.0.0.1:0"}

func suiro(backend, ring string) contender {
	return contender{name: "suiro/" + backend, binary: "suiro", build: goBuild("./examples/http"), ring: ring,
		args: append([]string{"-backend", backend, "-workers", "1"}, anyPort...)}
}

// raw is Suiro with the handler that the raw peers run, for the cost of the framework alone.
func raw(backend, ring string) contender {
	return contender{name: "suiro-raw/" + backend, binary: "suiro-raw", dir: "bench/peers", build: goBuild("./cmd/suiro"), ring: ring,
		args: append([]string{"-backend", backend}, anyPort...)}
}

func limit(name string) contender {
	return contender{name: "c-" + name, binary: "c-" + name, dir: "bench/c", args: anyPort,
		build: []string{"gcc", "-O2", "-std=gnu11", "-o", "BIN", name + ".c"}}
}

func rival(name, module string) contender {
	return contender{name: name, binary: name, dir: "bench/peers", build: goBuild("./cmd/" + name),
		args: anyPort, module: module}
}

func goBuild(pkg string) []string { return []string{"go", "build", "-o", "BIN", pkg} }

// contenders are all there are, in the order of a round and of the table.
var contenders = []contender{
	suiro("io_uring", "yes"),
	suiro("epoll", "no"),
	raw("io_uring", "yes"),
	raw("epoll", "no"),
	limit("uring"),
	limit("epoll"),
	rival("gnet-coalesced", "github.com/panjf2000/gnet/v2"),
	rival("gnet-naive", "github.com/panjf2000/gnet/v2"),
	rival("netpoll", "github.com/cloudwego/netpoll"),
	rival("nbio", "github.com/lesismal/nbio"),
	rival("evio", "github.com/tidwall/evio"),
	rival("fasthttp", "github.com/valyala/fasthttp"),
	rival("nethttp", ""),
	rival("suirohttp", ""),
	rival("net", ""),
}

func allNames() (names []string) {
	for _, c := range contenders {
		names = append(names, c.name)
	}
	return names
}

// choose picks contenders by name, all if there are no names, and keeps the table's order.
func choose(names []string) (chosen []contender, err error) {
	wanted := map[string]bool{}
	for _, name := range names {
		known := false
		for _, c := range contenders {
			family, _, _ := strings.Cut(c.name, "/")
			if c.name == name || family == name || name == "gnet" && strings.HasPrefix(c.name, "gnet-") {
				wanted[c.name], known = true, true
			}
		}
		if !known {
			return nil, fmt.Errorf("no contender is called %q; there are: %s", name, strings.Join(allNames(), " "))
		}
	}
	for _, c := range contenders {
		if len(names) == 0 || wanted[c.name] {
			chosen = append(chosen, c)
		}
	}
	return chosen, nil
}

// build builds what the chosen need into bin. It returns the names that could not be built, and why.
func build(ctx context.Context, root, bin string, chosen []contender) map[string]string {
	missing, failed := map[string]string{}, map[string]string{}
	for _, c := range chosen {
		path := filepath.Join(bin, c.binary)
		if _, err := os.Stat(path); err != nil && failed[c.binary] == "" {
			if err := c.compile(ctx, root, path); err != nil {
				failed[c.binary] = err.Error()
			}
		}
		if why := failed[c.binary]; why != "" {
			missing[c.name] = why
		}
	}
	return missing
}

func (c contender) compile(ctx context.Context, root, path string) error {
	argv := make([]string, len(c.build))
	for i, a := range c.build {
		if argv[i] = a; a == "BIN" {
			argv[i] = path
		}
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = filepath.Join(root, c.dir)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		said := oneLine(string(out))
		if abs, err := filepath.Abs(root); err == nil {
			said = strings.ReplaceAll(said, abs, ".") // the table is for others to read
		}
		return fmt.Errorf("%s: %w: %s", strings.Join(c.build, " "), err, said)
	}
	return nil
}

// checkBackend makes sure that a server did not quietly fall back to another backend.
func (c contender) checkBackend(pid int) error {
	if c.ring == "" {
		return nil
	}
	has, err := hasRing(pid)
	if err != nil {
		return err
	}
	if has != (c.ring == "yes") {
		return fmt.Errorf("wrong backend: holds an io_uring: %v, should: %s", has, c.ring)
	}
	return nil
}

// oneLine is the first few lines of a tool's output, fit for a table.
func oneLine(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) > 3 {
		lines = append(lines[:3], "…")
	}
	return strings.Join(lines, "; ")
}
