package conntest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/suiro-go/suiro/internal/leaks"
)

// shareEnv marks a process that runs a part of the tests.
const shareEnv = "SUIRO_CONNTEST_SHARE"

// batches is how many processes follow each other in the place of one: more of them share the work
// more evenly.
const batches = 4

// Share is a TestMain for a package whose tests wait more than they compute. It runs them in
// several processes of this binary, n at a time. Tests of one process cannot run in parallel, since
// Guard counts the descriptors and goroutines of the whole process.
//
// Share runs the tests in this process if a flag selects tests or asks for a profile, as -run and
// -coverprofile do. Without a log of what the tests read, go test caches no result of Share.
func Share(m *testing.M, n int) {
	flag.Parse()
	if os.Getenv(shareEnv) != "" || os.Getenv(childEnv) != "" || !shareable() {
		leaks.Exit(m.Run())
	}
	if err := share(n, os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stdout, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// shared are the flags of a test binary that all its processes may have.
var shared = []string{"timeout", "short", "v", "count", "failfast", "paniconexit0", "testlogfile", "shuffle", "parallel", "cpu",
	"gocoverdir", "fullpath"}

func shareable() bool {
	ok := true
	flag.Visit(func(f *flag.Flag) {
		if !slices.Contains(shared, strings.TrimPrefix(f.Name, "test.")) {
			ok = false
		}
	})
	return ok
}

func share(n int, out io.Writer) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	tests, err := listed(exe)
	if err != nil {
		return err
	}
	if len(tests) == 0 {
		return errors.New("FAIL (there are no tests)")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT, syscall.SIGTERM, os.Interrupt) // go test's at its own time-out
	defer signal.Stop(quit)
	go func() {
		select {
		case <-quit:
			cancel()
		case <-ctx.Done():
		}
	}()
	parts := deal(tests, n*batches)
	next := make(chan []string, len(parts))
	for _, part := range parts {
		next <- part
	}
	close(next)
	var (
		workers sync.WaitGroup
		mu      sync.Mutex
		failure error
	)
	began := time.Now()
	for range n {
		workers.Go(func() {
			for part := range next {
				text, err := runPart(ctx, exe, part, began)
				mu.Lock()
				_, _ = out.Write(text)
				if err != nil {
					failure = err
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if failure != nil {
		return fmt.Errorf("FAIL (%w)", failure)
	}
	_, err = io.WriteString(out, "PASS\n")
	return err
}

// listed are the names of the binary's tests.
func listed(exe string) ([]string, error) {
	cmd := exec.Command(exe, "-test.list=^(Test|Example|Fuzz)")
	cmd.Env = append(os.Environ(), shareEnv+"=list")
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the tests: %w", err)
	}
	return strings.Fields(string(text)), nil
}

// deal distributes tests over at most n parts, neighbors to different ones.
func deal(tests []string, n int) [][]string {
	parts := make([][]string, min(n, len(tests)))
	for i, test := range tests {
		parts[i%len(parts)] = append(parts[i%len(parts)], test)
	}
	return parts
}

// runPart runs some tests in a process of their own. Its text ends without go test's PASS.
func runPart(ctx context.Context, exe string, tests []string, began time.Time) ([]byte, error) {
	for i, test := range tests {
		tests[i] = regexp.QuoteMeta(test)
	}
	var args []string
	for _, arg := range os.Args[1:] {
		if !strings.HasPrefix(arg, "-test.testlogfile=") && !strings.HasPrefix(arg, "-test.timeout=") {
			args = append(args, arg)
		}
	}
	if limit := flag.Lookup("test.timeout").Value.(flag.Getter).Get().(time.Duration); limit > 0 {
		args = append(args, fmt.Sprintf("-test.timeout=%v", max(time.Second, limit-time.Since(began))))
	}
	cmd := exec.CommandContext(ctx, exe, append(args, "-test.run=^("+strings.Join(tests, "|")+")$")...)
	cmd.Env = append(os.Environ(), shareEnv+"=part")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // shows all goroutines
	cmd.WaitDelay = 10 * time.Second
	text, err := cmd.CombinedOutput()
	for _, end := range []string{"\x16PASS\n", "PASS\n"} {
		if rest, ok := bytes.CutSuffix(text, []byte(end)); ok && err == nil {
			text = rest
			break
		}
	}
	return text, err
}
