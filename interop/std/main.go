// Std runs Go's own tests of net, net/http, httptest, httputil and crypto/tls, from GOROOT, on
// Suiro. An overlay makes the constructors of listeners and dialers return Suiro's. It compares the
// failures with known.txt, which gives the reason for each test that cannot pass.
//
//	go run ./std [-suite net/http] [-mode listen] [-backend epoll] [-run TestServe]
//
// The modes: listen replaces net.ListenConfig.Listen by server.Listen, dial replaces
// net.Dialer.DialContext by server.Dialer's, http replaces http.Server.Serve by server.HTTP.
//
// A failure that is not listed is run again, five times alone (-again), and on package net. If it
// fails there too, Suiro is not the cause. If it fails in none of the five, a busy machine may have
// been the cause. Both are printed. Any other failure is an exit status of 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

var (
	suiteFlag   = flag.String("suite", "", "one package only")
	modeFlag    = flag.String("mode", "", "listen, http or dial only; none is package net itself")
	backendFlag = flag.String("backend", "io_uring,epoll", "the backends")
	runFlag     = flag.String("run", "", "only tests whose names match")
	short       = flag.Bool("short", false, "as go test -short: skip what takes long")
	times       = flag.Int("again", 5, "how often a test that fails and is not listed is run again")
	race        = flag.Bool("race", false, "as go test -race")
	logs        = flag.String("logs", "", "the directory for all that the tests print; empty: a temporary one, kept if a test fails")
	limit       = flag.Duration("limit", 90*time.Minute, "how long all of it may take")
)

func main() {
	flag.Parse()
	ok, err := runSuites()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "std:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

func runSuites() (ok bool, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	all, err := parseKnown(knownText)
	if err != nil {
		return false, err
	}
	dir := *logs
	if dir == "" {
		if dir, err = os.MkdirTemp("", "suiro-std"); err != nil {
			return false, err
		}
		defer func() {
			if ok {
				_ = os.RemoveAll(dir)
			}
		}()
	}
	ok = true
	for _, s := range suites {
		if *suiteFlag != "" && *suiteFlag != s.pkg {
			continue
		}
		good, err := runSuite(ctx, s, all, dir)
		if err != nil {
			return false, err
		}
		ok = ok && good
	}
	if !ok {
		fmt.Println("what the tests printed is in", dir)
	}
	return ok, nil
}

func runSuite(ctx context.Context, s suite, all []known, logs string) (bool, error) {
	dir, err := os.MkdirTemp("", "suiro-std-build")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b, err := build(ctx, s, dir)
	if err != nil {
		return false, err
	}
	if *runFlag != "" {
		match, err := regexp.Compile(*runFlag)
		if err != nil {
			return false, err
		}
		b.all = slices.DeleteFunc(b.all, func(name string) bool { return !match.MatchString(name) })
	}
	ok := true
	for _, mode := range append(s.modes, "none") {
		if *modeFlag == "" && mode == "none" || *modeFlag != "" && *modeFlag != mode {
			continue
		}
		for backend := range strings.SplitSeq(*backendFlag, ",") {
			good, err := runMode(ctx, b, mode, backend, all, logs)
			if err != nil {
				return false, err
			}
			ok = ok && good
		}
	}
	return ok, nil
}

func runMode(ctx context.Context, b *binary, mode, backend string, all []known, logs string) (bool, error) {
	list := slices.DeleteFunc(slices.Clone(all), func(k known) bool {
		return !k.of(b.pkg, mode, backend) || !slices.Contains(b.all, topOf(k.test))
	})
	name := fmt.Sprintf("%s-%s-%s", mode, b.name(), backend)
	raw, err := os.Create(filepath.Join(logs, name+".json"))
	if err != nil {
		return false, err
	}
	defer func() { _ = raw.Close() }()
	begun := time.Now()
	r, err := b.runAll(ctx, mode, backend, list, raw)
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	v := evaluate(r, list)
	fmt.Printf("%-6s %-17s %-8s %d passed, %d skipped, %d failed of which %d are not known (%v)\n", mode, b.pkg, backend,
		r.count("pass"), r.count("skip"), len(r.failures()), len(v.unknown), time.Since(begun).Round(time.Second))
	for _, k := range v.passed {
		fmt.Printf("    %s is in known.txt and does not fail: %s\n", k.test, k.reason)
	}
	ok, rerun := true, again{}
	for _, test := range v.unknown {
		what, mine, err := rerun.evaluate(ctx, b, mode, backend, test, raw)
		if err != nil {
			return false, err
		}
		ok = ok && !mine
		fmt.Printf("    %s failed; %s\n", test, what)
		if mine {
			fmt.Println(tail(r.output[test], 12))
		}
	}
	return ok, nil
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return "        " + strings.Join(all[max(0, len(all)-lines):], "\n        ")
}
