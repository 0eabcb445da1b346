package main

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// lines is what a server prints.
type lines struct {
	addr      chan string   // where it listens, once
	collected chan struct{} // it has collected garbage

	mu   sync.Mutex // guards the rest
	rest string     // of a line
	tail []string
	told bool
}

func newLines() *lines {
	return &lines{addr: make(chan string, 1), collected: make(chan struct{}, 1)}
}

var listening = regexp.MustCompile(`(?:127\.0\.0\.1|localhost|\[::1\]|0\.0\.0\.0|\[::\]):([1-9][0-9]*)\b`)

// findPort is the port in a line that names an address, or "".
func findPort(line string) string {
	if m := listening.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest += string(p)
	for {
		line, rest, ok := strings.Cut(l.rest, "\n")
		if !ok {
			return len(p), nil
		}
		l.rest = rest
		l.take(line)
	}
}

func (l *lines) take(line string) {
	if line == "collected" {
		select {
		case l.collected <- struct{}{}:
		default:
		}
		return
	}
	if l.tail = append(l.tail, line); len(l.tail) > keptLines {
		l.tail = l.tail[1:]
	}
	if port := findPort(line); port != "" && !l.told {
		l.told = true
		l.addr <- "127.0.0.1:" + port
	}
}

func (l *lines) last() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.tail)
}
