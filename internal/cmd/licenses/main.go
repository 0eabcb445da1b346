// Licenses writes THIRD_PARTY.md: the modules that each go.mod of this repository brings into
// programs and tests, and their licenses. A license that is not in the list of allowed ones is an
// error.
//
//	go run ./internal/cmd/licenses          writes the file
//	go run ./internal/cmd/licenses -check   fails if the file differs
package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const file = "THIRD_PARTY.md"

const head = `# Licenses of dependencies

Written by ` + "`make licenses`" + `. A program that imports Suiro links the modules of the first table only.

`

// A use is one table: the packages of a module, with or without what their tests import.
type use struct {
	title, dir, packages string
	tests                bool
}

var uses = []use{
	{"The library", ".", "./server/... ./packet/... ./blocking ./console ./chanx ./dispatch ./process ./syncx", false},
	{"Its tests and examples", ".", "./...", true},
	{"contrib/prometheus", "contrib/prometheus", "./...", true},
	{"contrib/otel", "contrib/otel", "./...", true},
	{"cmd/suiro", "cmd/suiro", "./...", true},
	{"examples/http3", "examples/http3", "./...", true},
	{"examples/proxy", "examples/proxy", "./...", true},
	{"process/natscluster", "process/natscluster", "./...", true},
	{"The comparison with giouring", "reactor/internal/uring/oracle", "./...", true},
	{"bench/load", "bench/load", "./...", true},
	{"bench/peers", "bench/peers", "./...", true},
	{"bench/actors", "bench/actors", "./...", true},
	{"interop", "interop", "./...", true},
}

func main() {
	check := flag.Bool("check", false, "fail if "+file+" differs, instead of writing it")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	text := bytes.NewBufferString(head)
	for i, u := range uses {
		modules, err := u.modules()
		if err != nil {
			return err
		}
		if i > 0 {
			text.WriteByte('\n')
		}
		fmt.Fprintf(text, "## %s\n\n| Module | Version | License |\n|---|---|---|\n", u.title)
		for _, name := range slices.Sorted(maps.Keys(modules)) {
			m := modules[name]
			license, err := licenseIn(m.dir)
			if err != nil {
				return fmt.Errorf("%s %s: %w", name, m.version, err)
			}
			fmt.Fprintf(text, "| %s | %s | %s |\n", name, m.version, license)
		}
	}
	if !check {
		return os.WriteFile(file, text.Bytes(), 0o644)
	}
	present, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(bytes.ReplaceAll(present, []byte("\r\n"), []byte("\n")), text.Bytes()) {
		return fmt.Errorf("%s is not up to date: run make licenses", file)
	}
	return nil
}

type module struct{ version, dir string }

// modules lists the modules of others that a use links, on any system.
func (u use) modules() (map[string]module, error) {
	all := map[string]module{}
	for _, goos := range []string{"linux", "windows", "darwin"} {
		args := []string{"list", "-deps", "-f", `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}`}
		if u.tests {
			args = append(args, "-test")
		}
		cmd := exec.Command("go", append(args, strings.Fields(u.packages)...)...)
		cmd.Dir = u.dir
		cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list in %s for %s: %w", u.dir, goos, err)
		}
		for line := range strings.Lines(string(out)) {
			words := strings.SplitN(strings.TrimSpace(line), " ", 3)
			if len(words) == 3 && !strings.HasPrefix(words[0], "github.com/suiro-go/suiro") {
				all[words[0]] = module{words[1], words[2]}
			}
		}
	}
	return all, nil
}

// licenseIn is the license of the module in a directory, by the text of its file.
func licenseIn(dir string) (string, error) {
	for _, pattern := range []string{"LICENSE*", "LICENCE*", "License*", "license*", "COPYING*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return "", err
		}
		for _, name := range found {
			text, err := os.ReadFile(name)
			if err != nil {
				return "", err
			}
			if license := licenseOf(string(text)); license != "" {
				return license, nil
			}
		}
	}
	return "", fmt.Errorf("no file in %s has a license that is allowed", dir)
}

// allowed are the licenses that dependencies may have, each with words that only its text has. The
// first that fits is taken.
var allowed = []struct{ name, words string }{
	{"Apache-2.0", "apache license version 2.0, january 2004"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"ISC", "for any purpose with or without fee is hereby granted"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"BSD-3-Clause", "may be used to endorse or promote products derived"},
	{"BSD-2-Clause", "redistributions in binary form must reproduce the above copyright"},
}

// licenseOf is the license with that text, or "" if it is none of the allowed ones.
func licenseOf(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	text = strings.ReplaceAll(text, ", version 2.0", " version 2.0")
	for _, license := range allowed {
		if strings.Contains(text, license.words) {
			return license.name
		}
	}
	return ""
}
