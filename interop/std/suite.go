package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// A suite is the tests of one package of Go.
type suite struct {
	pkg   string
	modes []string
}

// All that have connections: net/http's server is in the tests of three.
var suites = []suite{
	{"net/http", []string{"listen", "http", "dial"}},
	{"net/http/httptest", []string{"listen", "http", "dial"}},
	{"net/http/httputil", []string{"listen", "http", "dial"}},
	{"crypto/tls", []string{"listen", "dial"}},
	{"net", []string{"listen", "dial"}},
}

func (s suite) name() string { return path.Base(s.pkg) }

// A binary is the tests of a suite, built with the overlay.
type binary struct {
	suite
	file, dir string // dir is the package's
	all       []string
}

func build(ctx context.Context, s suite, dir string) (*binary, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	goroot := strings.TrimSpace(string(out))
	overlay, err := writeOverlay(goroot, dir, s)
	if err != nil {
		return nil, err
	}
	b := &binary{suite: s, file: filepath.Join(dir, "test"), dir: filepath.Join(goroot, "src", filepath.FromSlash(s.pkg))}
	args := []string{"test", "-c", "-p", "1", "-overlay", overlay, "-o", b.file}
	if *race {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, s.pkg)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go test -c %s: %w", s.pkg, err)
	}
	list := exec.CommandContext(ctx, b.file, "-test.list", ".")
	list.Dir = b.dir
	if out, err = list.Output(); err != nil {
		return nil, fmt.Errorf("the tests of %s: %w", s.pkg, err)
	}
	for _, name := range strings.Fields(string(out)) {
		if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") {
			b.all = append(b.all, name)
		}
	}
	return b, nil
}
