//go:build unix

package suiro_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/patience"
)

// buildPatience bounds a run of the go command. patience.Limit bounds the run of one program.
const buildPatience = 8 * time.Minute

// listening is the second file of each program.
const listening = `package main

import (
	"fmt"
	"net"
)

func listening(addr net.Addr) { fmt.Println("listening on", addr) }
`

var (
	portOfAddr  = regexp.MustCompile(`"([\w.\[\]:-]*):(\d+)"`)
	serverValue = regexp.MustCompile(`\bserver\.Server\{`)
)

// forTest is the source of a program as the test runs it: on free ports, with the addresses of the
// test's echo servers, and telling where it listens.
func forTest(code string, upstreams map[string]string) string {
	marks := map[string]string{}
	for from := range upstreams {
		mark := fmt.Sprintf("\"upstream %d\"", len(marks))
		marks[mark] = from
		code = strings.ReplaceAll(code, `"`+from+`"`, mark)
	}
	code = portOfAddr.ReplaceAllString(code, `"$1:0"`)
	for mark, from := range marks {
		code = strings.ReplaceAll(code, mark, `"`+upstreams[from]+`"`)
	}
	if !strings.Contains(code, "Listening") {
		code = serverValue.ReplaceAllString(code, "server.Server{Listening: listening, ")
	}
	return code
}

func TestProgramsAreChangedForTheTestAlone(t *testing.T) {
	changed := forTest(`x := server.Server{Addr: ":80"}; dial("127.0.0.1:6379"); y := server.Server{}`,
		map[string]string{"127.0.0.1:6379": "127.0.0.1:45678"})
	assert.Equal(t, `x := server.Server{Listening: listening, Addr: ":0"}; dial("127.0.0.1:45678"); `+
		`y := server.Server{Listening: listening, }`, changed)
	assert.Equal(t, `server.Server{Listening: f}`, forTest(`server.Server{Listening: f}`, nil))
}

// guideModule makes a module that requires this one, as that of a user does, with these files.
func guideModule(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	root, err := os.Getwd()
	require.NoError(t, err)
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	path := modulePath.FindSubmatch(mod)
	require.NotNil(t, path)
	text := strings.Replace(string(mod), string(path[0]), "module guides", 1)
	sum, err := os.ReadFile("go.sum")
	require.NoError(t, err)
	dir = t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	write("go.mod", fmt.Sprintf("%s\nrequire %s v0.0.0\n\nreplace %[2]s => %s\n", text, path[1], root))
	write("go.sum", string(sum))
	for name, text := range files {
		write(name, text)
	}
	return dir
}

var modulePath = regexp.MustCompile(`(?m)^module (\S+)$`)

// goTool runs the go command, and returns its output as an error.
func goTool(t *testing.T, dir string, args ...string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), buildPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod "+os.Getenv("GOFLAGS")) // with -trimpath the cache holds elsewhere
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", args[0], err, out)
	}
	return nil
}

// A guideProgram is a program or a test of a guide, with its place in the module.
type guideProgram struct {
	block
	*script
	dir       string
	upstreams map[string]string
}

func programsOf(t *testing.T, documents map[string]string) (all []*guideProgram) {
	t.Helper()
	for file, text := range documents {
		for _, b := range blocksOfGuide(file, text) {
			if !b.isProgram() && !b.isTest() {
				continue
			}
			s, err := scriptOf(b)
			require.NoError(t, err)
			name := strings.TrimSuffix(filepath.Base(file), ".md")
			p := &guideProgram{block: b, script: s, dir: fmt.Sprintf("%s_%d", name, b.line), upstreams: map[string]string{}}
			if s != nil {
				for _, addr := range s.upstreams {
					p.upstreams[addr] = conntest.Serve(t, conntest.Echo).String()
				}
			}
			all = append(all, p)
		}
	}
	return all
}

// sources are the files of the programs, by their paths in the module. All programs are packages of
// one executable, which runs the one that it is called as: to link each by itself takes minutes.
func sources(programs []*guideProgram) map[string]string {
	files := map[string]string{}
	imports, cases := "", ""
	for _, p := range programs {
		if p.isTest() {
			files[p.dir+"/guide_test.go"] = p.code
			continue
		}
		files[p.dir+"/main.go"] = asPackage(forTest(p.code, p.upstreams))
		files[p.dir+"/listening.go"] = asPackage(listening)
		name := fmt.Sprintf("p%d", len(files))
		imports += fmt.Sprintf("\t%s \"guides/%s\"\n", name, p.dir)
		cases += fmt.Sprintf("\tcase %q:\n\t\t%s.Main()\n", p.dir, name)
	}
	files["all/main.go"] = fmt.Sprintf("package main\n\nimport (\n\t\"os\"\n\t\"path/filepath\"\n\n%s)\n\n"+
		"func main() {\n\tswitch name := filepath.Base(os.Args[0]); name {\n%s"+
		"\tdefault:\n\t\tpanic(\"no program \" + name)\n\t}\n}\n", imports, cases)
	return files
}

var (
	packageMain = regexp.MustCompile(`(?m)^package main\b`)
	mainFunc    = regexp.MustCompile(`(?m)^func main\(\)`)
)

// asPackage makes a file of a program one of a package with the function Main.
func asPackage(code string) string {
	return mainFunc.ReplaceAllString(packageMain.ReplaceAllString(code, "package program"), "func Main()")
}

// checkPrograms compiles all programs, runs the tests, and returns the folder of the executables.
func checkPrograms(t *testing.T, programs []*guideProgram) (string, error) {
	t.Helper()
	dir, bin := guideModule(t, sources(programs)), t.TempDir()
	build := []string{"build", "-ldflags=-s -w", "-o", filepath.Join(bin, "all")}
	if raceEnabled {
		build = append(build, "-race")
	}
	if err := goTool(t, dir, append(build, "./all")...); err != nil {
		return "", err
	}
	var tests []string
	for _, p := range programs {
		if p.isTest() {
			tests = append(tests, "./"+p.dir)
		} else if err := os.Link(filepath.Join(bin, "all"), filepath.Join(bin, p.dir)); err != nil {
			return "", err
		}
	}
	err := goTool(t, dir, "vet", "./...")
	if len(tests) > 0 {
		err = errors.Join(err, goTool(t, dir, append([]string{"test", "-vet=off", "-timeout=1m"}, tests...)...))
	}
	return bin, err
}

func TestProgramsInTheGuidesCompileAndDoWhatTheGuidesSay(t *testing.T) {
	lengthy(t)
	programs := programsOf(t, guides(t))
	bin, err := checkPrograms(t, programs)
	require.NoError(t, err)
	certificates := newCertificates(t)
	runs := 0
	for _, p := range programs {
		if p.script == nil {
			continue
		}
		runs++
		t.Run(filepath.Base(p.dir), func(t *testing.T) {
			t.Parallel()
			if err := run(t, p, filepath.Join(bin, filepath.Base(p.dir)), certificates); err != nil {
				t.Errorf("%v: %v", p, err)
			}
		})
	}
	assert.Greater(t, runs, 5, "programs were run")
}

// A broken program of each kind is found.
func TestProgramsThatDoNotDoWhatTheirGuideSaysAreFound(t *testing.T) {
	lengthy(t)
	program := func(note, body string) string {
		return "<!-- run " + note + "\n-->\n```go\npackage main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc main() {\n" + body + "\n}\n```\n\n"
	}
	texts := map[string]string{
		"other output":  program("output\nexpect \"b\"", "fmt.Print(\"a\", os.Args[1:])"),
		"an exit code":  program("output\nexpect \"a[]\"", "fmt.Print(\"a\", os.Args[1:]); os.Exit(3)"),
		"no address":    program("tcp\nexpect \"a\"", "fmt.Print(\"a\", os.Args[1:])"),
		"no server":     program("tcp\nexpect \"a\"", "fmt.Println(\"listening on 127.0.0.1:1\", os.Args[1:])"),
		"the right one": program("output\nexpect \"a[b]\"\narg \"b\"", "fmt.Print(\"a\", os.Args[1:])"),
	}
	programs := programsOf(t, texts)
	for i, p := range programs {
		p.dir = fmt.Sprintf("broken%d", i)
	}
	bin, err := checkPrograms(t, programs)
	require.NoError(t, err)
	for _, p := range programs {
		err := run(t, p, filepath.Join(bin, filepath.Base(p.dir)), newCertificates(t))
		assert.Equal(t, p.file == "the right one", err == nil, "%s: %v", p.file, err)
	}

	for what, text := range map[string]string{
		"does not compile": "```go\npackage main\n\nfunc main() { x }\n```\n",
		"vet complains":    "```go\npackage main\n\nimport \"fmt\"\n\nfunc main() { fmt.Printf(\"%d\", \"\") }\n```\n",
		"a test fails":     "```go test\npackage p\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Fail() }\n```\n",
	} {
		broken := programsOf(t, map[string]string{"x.md": text, "y.md": "```go\npackage main\n\nfunc main() {}\n```\n"})
		_, err := checkPrograms(t, broken)
		assert.Error(t, err, what)
	}
}

// run runs a program by its script. The error says what the program printed.
func run(t *testing.T, p *guideProgram, executable string, certs *certificates) (err error) {
	dir := t.TempDir()
	for name, text := range certs.files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, executable, p.args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GORACE=halt_on_error=1")
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	if p.kind == "output" {
		cmd.Stderr = os.Stderr // a busy machine causes warnings
	}
	cmd.WaitDelay = patience.Limit // if a child of it keeps its output open
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		close(ended)
	}()
	defer func() {
		cancel() // kills it, if it still runs
		<-ended
		if err != nil {
			err = fmt.Errorf("%w; it printed:\n%s", err, out)
		}
	}()
	if p.kind == "output" {
		if err := <-ended; err != nil {
			return err
		}
		if want := p.steps[0].text; out.String() != want {
			return fmt.Errorf("it should print %q", want)
		}
		return nil
	}
	addr, err := out.address(ended)
	if err != nil {
		return err
	}
	c, err := converse(p.script, addr, certs)
	if c != nil {
		defer c.Close() // it is open while the program ends
	}
	if err != nil {
		return err
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return <-ended
}

// An output gathers what a program prints.
type output struct {
	mu      sync.Mutex
	b       bytes.Buffer
	changed chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

var listensOn = regexp.MustCompile(`(?m)listening on (\S+)$`)

// address waits until the program has printed where it listens.
func (o *output) address(ended chan error) (string, error) {
	for {
		o.mu.Lock()
		if found := listensOn.FindStringSubmatch(o.b.String()); found != nil && strings.HasSuffix(o.b.String(), "\n") {
			o.mu.Unlock()
			return found[1], nil
		}
		if o.changed == nil {
			o.changed = make(chan struct{})
		}
		changed := o.changed
		o.mu.Unlock()
		select {
		case <-changed:
		case err := <-ended:
			return "", fmt.Errorf("it ended before it listened: %w", cmp.Or(err, errors.New("exit code 0")))
		}
	}
}

// converse does the steps of a script.
func converse(s *script, addr string, certs *certificates) (c net.Conn, err error) {
	if c, err = dialKind(s.kind, addr, certs); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(c, 1<<16)
	for _, st := range s.steps {
		switch st.verb {
		case "send":
			_, err = io.WriteString(c, st.text)
		case "finish":
			err = c.(interface{ CloseWrite() error }).CloseWrite()
		case "reconnect":
			_ = c.Close()
			if c, err = dialKind(s.kind, addr, certs); err == nil {
				r.Reset(c)
			}
		case "eof":
			var rest []byte
			if rest, err = io.ReadAll(r); err == nil && len(rest) > 0 {
				err = fmt.Errorf("%q came before the end", rest)
			}
		case "expect":
			got := make([]byte, len(st.text))
			n, rerr := io.ReadFull(r, got)
			if string(got[:n]) != st.text {
				err = fmt.Errorf("%.500q came instead of %q: %w", got[:n], st.text, cmp.Or(rerr, errors.New("other bytes")))
			}
		case "until":
			var got []byte
			for err == nil && !bytes.HasSuffix(got, []byte(st.text)) {
				var b byte
				if b, err = r.ReadByte(); err == nil {
					got = append(got, b)
				}
			}
			if err != nil {
				err = fmt.Errorf("%q came at last, and not %q: %w", got[max(0, len(got)-500):], st.text, err)
			}
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

func dialKind(kind, addr string, certs *certificates) (net.Conn, error) {
	var c net.Conn
	var err error
	switch kind {
	case "tls", "mtls":
		config := &tls.Config{RootCAs: certs.pool, ServerName: "localhost"}
		if kind == "mtls" {
			config.Certificates = []tls.Certificate{certs.pair}
		}
		c, err = tls.Dial("tcp", addr, config)
	default:
		c, err = net.Dial(kind, addr)
	}
	if err != nil {
		return nil, err // c may be a nil *tls.Conn
	}
	return c, c.SetDeadline(time.Now().Add(patience.Limit))
}

// certificates are one authority and one certificate, for both sides.
type certificates struct {
	files map[string][]byte
	pool  *x509.CertPool
	pair  tls.Certificate
}

func newCertificates(t *testing.T) *certificates {
	t.Helper()
	certs := new(certificates)
	certs.pair, certs.pool = conntest.Certificate(t)
	cert, key := conntest.PEM(t, certs.pair)
	certs.files = map[string][]byte{"cert.pem": cert, "ca.pem": cert, "key.pem": key}
	return certs
}
