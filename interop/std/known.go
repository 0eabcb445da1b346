package main

import (
	"bufio"
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed known.txt
var knownText string

// A known failure is a line of known.txt: what cannot pass, and why.
type known struct {
	modes, backends []string // backends nil: all
	pkg, test       string
	alone           bool // it takes the process down, or hangs: it gets one of its own
	reason          string
}

// parseKnown reads lines of: modes, each with +backend if it is of one alone; package; test,
// whose subtests are meant with it; "alone" or "-"; reason.
func parseKnown(text string) (all []known, err error) {
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 5 || f[3] != "-" && f[3] != "alone" {
			return nil, fmt.Errorf("known.txt:%d: want modes, package, test, alone or -, and a reason", n)
		}
		k := known{pkg: f[1], test: f[2], alone: f[3] == "alone", reason: strings.Join(f[4:], " ")}
		var backend string
		modes, backend, one := strings.Cut(f[0], "+")
		k.modes = strings.Split(modes, ",")
		if one {
			k.backends = []string{backend}
		}
		all = append(all, k)
	}
	return all, nil
}

func (k *known) of(pkg, mode, backend string) bool {
	return k.pkg == pkg && slices.Contains(k.modes, mode) && (k.backends == nil || slices.Contains(k.backends, backend))
}

// covers reports whether a test is the one of the line, or one of its subtests.
func (k *known) covers(test string) bool {
	return test == k.test || strings.HasPrefix(test, k.test+"/")
}

func topOf(test string) string {
	top, _, _ := strings.Cut(test, "/")
	return top
}
