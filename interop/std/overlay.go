package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// An edit puts text before or after a line of a file of GOROOT/src.
type edit struct {
	file, at string // at is there once
	text     string // takes the place of at
}

// The edits are the same for all suites: which hooks are set is decided when a suite runs.
var edits = []edit{
	{"net/dial.go", listenAt, listenAt + `
	if SuiroListen != nil {
		if l, err, ok := SuiroListen(lc, network, address); ok {
			return l, err
		}
	}`},
	{"net/dial.go", dialAt, dialAt + `
	if SuiroDial != nil {
		if c, err, ok := SuiroDial(ctx, d, network, address); ok {
			return c, err
		}
	}`},
	{"net/http/server.go", serveAt, `	if SuiroServe != nil {
		if err, ok := SuiroServe(s, l); ok {
			return err
		}
	}
` + serveAt},
	{"net/http/server.go", closeAt, closeAt + fmt.Sprintf(endHook, "nil")},
	{"net/http/server.go", shutdownAt, shutdownAt + fmt.Sprintf(endHook, "ctx")},
	// The workers, and the goroutine that is net/http's server on them, are no leak of a test.
	{"net/http/main_test.go", leakAt, leakAt + `
			strings.Contains(stack, "created by github.com/suiro-go/suiro/") ||`},
}

const (
	listenAt   = "func (lc *ListenConfig) Listen(ctx context.Context, network, address string) (Listener, error) {"
	dialAt     = "func (d *Dialer) DialContext(ctx context.Context, network, address string) (Conn, error) {"
	serveAt    = "\torigListener := l\n\tl = &onceCloseListener{Listener: l}\n\tdefer l.Close()\n\n\tif err := s.setupHTTP2_Serve()"
	closeAt    = "func (s *Server) Close() error {"
	shutdownAt = "func (s *Server) Shutdown(ctx context.Context) error {"
	leakAt     = `		if stack == "" ||`
	endHook    = `
	if SuiroEnd != nil {
		if err, ok := SuiroEnd(s, %s); ok {
			return err
		}
	}`
)

// asInterface are the files of tests in which *net.TCPConn is made an interface with its
// methods, since Suiro's connections have those and are of another type.
var asInterface = []string{
	"net/error_test.go", "net/net_test.go", "net/rawconn_test.go", "net/tcpconn_keepalive_test.go", "net/writev_test.go",
	"net/http/serve_test.go", "net/http/transport_test.go", "net/http/httputil/reverseproxy_test.go",
}

var pointer, field = regexp.MustCompile(`\*(net\.)?TCPConn\b`), regexp.MustCompile(`\b(c|tConn)\.TCPConn\b`)

// left is a file of tests that is left out: its one test, TestEndlessWrite, writes by the
// descriptor within a *net.TCPConn, and does not build with that interface.
const left = "net/write_unix_test.go"

// The hooks' variables, and that interface, are files more.
var added = map[string]string{
	"net/suiro.go": `package net

import (
	"context"
	"io"
	"syscall"
	"time"
)

type SuiroTCPConn interface {
	Conn
	io.ReaderFrom
	CloseRead() error
	CloseWrite() error
	SetKeepAlive(bool) error
	SetKeepAliveConfig(KeepAliveConfig) error
	SetKeepAlivePeriod(time.Duration) error
	SetLinger(int) error
	SetNoDelay(bool) error
	SyscallConn() (syscall.RawConn, error)
}

var (
	SuiroListen func(lc *ListenConfig, network, address string) (Listener, error, bool)
	SuiroDial   func(ctx context.Context, d *Dialer, network, address string) (Conn, error, bool)
)
`,
	"net/http/suiro.go": `package http

import (
	"context"
	"net"
)

var (
	SuiroServe func(s *Server, l net.Listener) (error, bool)
	SuiroEnd   func(s *Server, ctx context.Context) (error, bool)
)
`,
}

// setter is the file of the external tests that sets the hooks: those of a package that net and
// net/http import cannot import ours.
const setter = `package %[1]s_test

import (
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/suiro-go/suiro/interop/std/hook"
)

func init() {
	switch os.Getenv(%[2]q) {
	case "listen":
		net.SuiroListen = hook.Listen
	case "dial":
		net.SuiroDial = hook.Dial
	case "http":
		net.SuiroListen, http.SuiroServe, http.SuiroEnd = hook.ListenHTTP, hook.Serve, hook.End
	}
}

func TestSuiroIsUsed(t *testing.T) {
	if err := hook.Check(os.Getenv(%[2]q)); err != nil {
		t.Fatal(err)
	}
}
`

// envMode is the environment variable that says which hooks a test binary sets. "": none.
const envMode = "SUIRO_STD"

// writeOverlay writes what go test -overlay wants for a suite, and returns the name of that file.
func writeOverlay(goroot, dir string, s suite) (string, error) {
	replace := map[string]string{filepath.Join(goroot, "src", left): ""}
	put := func(file, text string) error {
		name := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		replace[filepath.Join(goroot, "src", filepath.FromSlash(file))] = name
		return os.WriteFile(name, []byte(text), 0o600)
	}
	texts := map[string]string{}
	for _, e := range edits {
		text, ok := texts[e.file]
		if !ok {
			b, err := os.ReadFile(filepath.Join(goroot, "src", filepath.FromSlash(e.file)))
			if err != nil {
				return "", err
			}
			text = string(b)
		}
		if n := strings.Count(text, e.at); n != 1 {
			return "", fmt.Errorf("%s has %q %d times, not once: look what this release of Go has instead", e.file, e.at, n)
		}
		texts[e.file] = strings.Replace(text, e.at, e.text, 1)
	}
	for _, file := range asInterface {
		b, err := os.ReadFile(filepath.Join(goroot, "src", filepath.FromSlash(file)))
		if err != nil {
			return "", err
		}
		if !pointer.Match(b) {
			return "", fmt.Errorf("%s has no *net.TCPConn: look what this release of Go has instead", file)
		}
		texts[file] = field.ReplaceAllString(pointer.ReplaceAllString(string(b), "${1}SuiroTCPConn"), "${1}.SuiroTCPConn")
	}
	for file, text := range added {
		texts[file] = text
	}
	texts[s.pkg+"/suiro_test.go"] = fmt.Sprintf(setter, s.name(), envMode)
	for file, text := range texts {
		if err := put(file, text); err != nil {
			return "", err
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, b, 0o600)
}
