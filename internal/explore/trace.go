package explore

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// A trace records the steps of an execution.
type trace struct{ lines []traceLine }

type traceLine struct {
	thread, what string
	file         string
	line         int
}

func (t *trace) add(th *thread, what string) {
	file, line := caller()
	t.lines = append(t.lines, traceLine{th.name, what, file, line})
}

// caller is the position of a thread in code outside this package.
func caller() (file string, line int) {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.Contains(f.Function, "/explore.") || strings.HasSuffix(f.File, "_test.go") || !more {
			return f.File, f.Line
		}
	}
}

func (t *trace) print(w io.Writer) {
	sources := make(map[string][]string)
	for i, l := range t.lines {
		source, ok := sources[l.file]
		if !ok {
			text, err := os.ReadFile(l.file)
			if err != nil { // With -trimpath it is no path; tests run in the folder of their package.
				text, _ = os.ReadFile(filepath.Base(l.file))
			}
			source = strings.Split(string(text), "\n")
			sources[l.file] = source
		}
		code := ""
		if l.line <= len(source) {
			code = strings.TrimSpace(source[l.line-1])
		}
		at := fmt.Sprintf("%s:%d", filepath.Base(l.file), l.line)
		_, _ = fmt.Fprintf(w, "%4d  %-10s %-24s %-64s | %s\n", i+1, l.thread, at, code, l.what)
	}
}
