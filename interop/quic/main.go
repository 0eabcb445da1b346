// Quic runs quic-go's integration tests over server.ListenPacket, in a copy of the version that
// interop's go.mod names. Its working directory is that of interop.
//
//	go run ./quic [-backends epoll,io_uring] [-run REGEXP]
//
// A failed test is run again alone, five times. If it fails again, it is run over package net's
// sockets as well. A test that fails over Suiro's alone fails the run.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const suite = "github.com/quic-go/quic-go/integrationtests/self"

func main() {
	backends := flag.String("backends", "epoll,io_uring", "`names`, separated by commas")
	run := flag.String("run", ".", "which tests: a `regexp`, as go test takes it")
	flag.Parse()
	if err := runAll(strings.Split(*backends, ","), *run); err != nil {
		fmt.Fprintln(os.Stderr, "quic:", err)
		os.Exit(1)
	}
}

func runAll(backends []string, run string) error {
	dir, err := os.MkdirTemp("", "quic")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ours, theirs, err := build(dir)
	if err != nil {
		return err
	}
	var bad error
	for _, backend := range backends {
		fmt.Println("backend", backend)
		out := test(ours, backend, "-test.run="+run)
		fmt.Println(" ", len(passed.FindAll(out, -1)), "tests have passed")
		names := failed.FindAllSubmatch(out, -1)
		if len(names) == 0 && !bytes.HasSuffix(out, []byte("PASS\n")) {
			bad = errors.Join(bad, fmt.Errorf("the tests over %s did not end:\n%s", backend, tail(out)))
		}
		for _, name := range names {
			alone := []string{"-test.run=^" + string(name[1]) + "$", "-test.count=5"}
			switch again := test(ours, backend, alone...); {
			case bytes.HasSuffix(again, []byte("PASS\n")):
				fmt.Printf("  %s has failed, but does not alone\n", name[1])
			case !bytes.HasSuffix(test(theirs, "", alone...), []byte("PASS\n")):
				fmt.Printf("  %s fails over package net as well\n", name[1])
			default:
				bad = errors.Join(bad, fmt.Errorf("%s fails over %s:\n%s", name[1], backend, tail(again)))
			}
		}
	}
	return bad
}

var (
	passed = regexp.MustCompile(`(?m)^--- PASS: `)
	failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
)

// tail is the end of an output.
func tail(out []byte) []byte { return out[max(0, len(out)-4000):] }

// test runs a test program to its end, and returns its output. Its name is that of its folder.
func test(program, backend string, args ...string) []byte {
	c := exec.Command(program, append([]string{"-test.v", "-test.timeout=15m"}, args...)...)
	c.Env = append(os.Environ(), "SUIRO_BACKEND="+backend, "TIMESCALE_FACTOR=3")
	c.Dir = filepath.Dir(program)
	out, _ := c.CombinedOutput() // the output tells how it ended
	return out
}

// build makes two programs of the tests: with Suiro's sockets, and with those of package net.
func build(dir string) (ours, theirs string, err error) {
	from, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/quic-go/quic-go").Output()
	if err != nil {
		return "", "", fmt.Errorf("where quic-go is: %w", err)
	}
	library, err := filepath.Abs("..")
	if err != nil {
		return "", "", err
	}
	for _, with := range []*string{&theirs, &ours} {
		copied := filepath.Join(dir, fmt.Sprint(with == &ours))
		if err := os.CopyFS(copied, os.DirFS(strings.TrimSpace(string(from)))); err != nil {
			return "", "", err
		}
		if with == &ours {
			if err := patch(copied); err != nil {
				return "", "", err
			}
		}
		mod := copied + ".mod"
		for name, to := range map[string]string{"go.mod": mod, "go.sum": copied + ".sum"} {
			p, err := os.ReadFile(name)
			if err != nil {
				return "", "", err
			}
			if err := os.WriteFile(to, p, 0o644); err != nil {
				return "", "", err
			}
		}
		*with = filepath.Join(copied, "integrationtests", "self", "self.test")
		for _, args := range [][]string{
			{"mod", "edit", "-replace=github.com/quic-go/quic-go=" + copied, "-replace=github.com/suiro-go/suiro=" + library, mod},
			{"test", "-modfile=" + mod, "-mod=mod", "-c", "-o", *with, suite},
		} {
			if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
				return "", "", fmt.Errorf("go %s: %w\n%s", args[0], err, out)
			}
		}
	}
	return ours, theirs, nil
}

// listen takes the place of the function by which the tests get their sockets.
const listen = `func newUDPConnLocalhost(t testing.TB) *UDPConn {
	t.Helper()
	s := &server.Server{Backend: os.Getenv("SUIRO_BACKEND")}
	conn, err := s.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return conn
}

// UDPConn is the socket under test.
type UDPConn = server.PacketSocket
`

// anySocket takes the place of *net.UDPConn in the proxy of the tests.
const anySocket = `
// UDPConn is a UDP socket of any package.
type UDPConn interface {
	net.PacketConn
	ReadFromUDP(p []byte) (int, *net.UDPAddr, error)
	WriteToUDP(p []byte, to *net.UDPAddr) (int, error)
	Write(p []byte) (int, error)
	Read(p []byte) (int, error)
	SetReadBuffer(int) error
	SetWriteBuffer(int) error
}
`

// patch makes a copy of quic-go test over Suiro.
func patch(copied string) error {
	tests := filepath.Join(copied, "integrationtests")
	return errors.Join(
		edit(filepath.Join(tests, "self", "self_test.go"), `(?s)func newUDPConnLocalhost\(.*?\n}\n`, listen, ""),
		edit(filepath.Join(tests, "self", "self_test.go"), `\t"github.com/stretchr/testify/require"\n`, "$0\n\t\"github.com/suiro-go/suiro/server\"\n", ""),
		edit(filepath.Join(tests, "self", "mtu_fallback_test.go"), `(?m)^\t\*net\.UDPConn$`, "\t*UDPConn", ""),
		edit(filepath.Join(tests, "tools", "proxy", "proxy.go"), `\*net\.UDPConn`, "UDPConn", anySocket),
	)
}

// edit replaces all matches in a file, at least one, and appends to it.
func edit(name, what, by, behind string) error {
	p, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	re := regexp.MustCompile(what)
	if !re.Match(p) {
		return fmt.Errorf("%s has no %s: this version of quic-go takes another patch", name, what)
	}
	p = append(re.ReplaceAll(p, []byte(by)), behind...)
	if err := os.Chmod(name, 0o644); err != nil {
		return err
	}
	return os.WriteFile(name, p, 0o644)
}
