package suiro_test

import (
	"bufio"
	"cmp"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const module = "github.com/suiro-go/suiro"

// A layer is what the packages under one directory may import beside each
// other, the standard library and golang.org/x/{sys,net}.
type layer struct {
	ours   []string // layers
	others []string // modules
}

// The arrows of the design. The longest name that fits a package is its layer.
var layers = map[string]layer{
	"timer":                        {},
	"reactor":                      {ours: []string{"internal/faults", "internal/iosync"}},
	"reactor/internal/reactortest": {ours: []string{"reactor", "internal/faults", "internal/patience"}},
	"sched":                        {ours: []string{"timer", "internal/atomics", "internal/background", "internal/bubble", "internal/cputime", "internal/ctxend", "internal/debuglog", "internal/dumptext", "internal/goid", "internal/inline", "internal/list", "internal/onworker", "internal/owned", "internal/panics", "internal/procs", "internal/saturate", "internal/testmode", "internal/wakers", "metrics"}},
	"metrics":                      {},
	"admin":                        {ours: []string{"metrics"}},
	"internal/owned":               {ours: []string{"metrics"}},
	"syncx":                        {ours: []string{"sched", "internal/list", "internal/atomics"}},
	"chanx":                        {ours: []string{"sched", "internal/list", "internal/atomics", "internal/ctxcheck"}},
	"process":                      {ours: []string{"conn", "sched", "internal/ctxcheck", "internal/list", "internal/mpsc", "internal/onworker", "internal/panics", "internal/saturate"}},
	"dispatch":                     {ours: []string{"blocking", "internal/ctxcheck", "sched"}},
	"internal/mpsc":                {ours: []string{"internal/atomics"}},
	"blocking":                     {ours: []string{"sched", "internal/atomics", "internal/background", "internal/bubble", "internal/ctxcheck", "internal/ctxend", "internal/list", "internal/onworker", "internal/panics", "internal/wakers", "metrics"}},
	"conn":                         {ours: []string{"reactor", "sched", "internal/accept", "internal/alarm", "internal/bubble", "internal/bufs", "internal/core", "internal/ctxcheck", "internal/deadlines", "internal/debuglog", "internal/dumptext", "internal/duplex", "internal/engine", "internal/flow", "internal/handover", "internal/inline", "internal/onworker", "internal/owned", "internal/panics", "internal/placement", "internal/queue", "internal/ready", "internal/receive", "internal/saturate", "internal/seldom", "internal/sock", "internal/tlsmem", "internal/semaphore", "metrics"}},
	"internal/core":                {ours: []string{"reactor", "sched", "internal/accept", "internal/admission", "internal/alarm", "internal/attempts", "internal/bubble", "internal/bufs", "internal/deadlines", "internal/debuglog", "internal/dumptext", "internal/duplex", "internal/engine", "internal/flow", "internal/inline", "internal/membudget", "internal/mailbox", "internal/panics", "internal/placement", "internal/receive", "internal/saturate", "internal/seldom", "internal/sending", "internal/sock", "internal/tlsmem"}},
	"packet":                       {ours: []string{"reactor", "sched", "internal/alarm", "internal/bufs", "internal/ctxcheck", "internal/dumptext", "internal/engine", "internal/list", "internal/panics", "internal/ready", "internal/saturate", "internal/sock"}},
	"conn/frame":                   {},
	"conn/proxyproto":              {},
	"server":                       {ours: []string{"conn", "conn/proxyproto", "packet", "sched", "blocking", "internal/background", "internal/bubble", "internal/cpulimit", "internal/ctxcheck", "internal/ctxend", "internal/dumptext", "internal/list", "internal/onworker", "internal/panics", "internal/procs", "internal/saturate", "internal/sock", "metrics"}},
	"server/servertest":            {},
	"console":                      {ours: []string{"server", "blocking", "internal/panics"}},
	"examples":                     {ours: slices.Concat(public, []string{"examples/http/h1", "examples/redis/kv"})},
	"contrib/prometheus":           {ours: []string{"metrics"}, others: []string{"github.com/prometheus/client_golang"}},
	"contrib/otel":                 {ours: []string{"metrics", "sched", "server"}, others: []string{"go.opentelemetry.io/otel"}},
	"cmd/suiro":                    {others: []string{"charm.land/bubbletea"}},
	"examples/http3":               {ours: public, others: []string{"github.com/quic-go/quic-go"}},
	"examples/proxy":               {ours: slices.Concat(public, []string{"examples", "examples/http/h1"}), others: []string{"github.com/BurntSushi/toml"}},
	"examples/http/h1":             {},
	"examples/redis/kv":            {},
	"internal/list":                {},
	"internal/alarm":               {ours: []string{"sched", "internal/bubble"}},
	"internal/duplex":              {ours: []string{"sched", "internal/alarm", "internal/bufs", "internal/onworker", "internal/sock", "internal/waiter"}},
	"internal/waiter":              {ours: []string{"sched", "internal/bubble", "internal/list"}},
	"internal/ready":               {ours: []string{"reactor", "sched", "internal/bubble", "internal/engine", "internal/onworker", "internal/readiness", "internal/sock"}},
	"internal/onworker":            {ours: []string{"internal/goid"}},
	"internal/goid":                {},
	"internal/inline":              {},
	"internal/procs":               {},
	"internal/prose":               {},
	"internal/panics":              {},
	"internal/background":          {},
	"internal/testmode":            {},
	"internal/patience":            {},
	"internal/leaks":               {},
	"internal/bubble":              {ours: []string{"internal/background", "internal/panics"}},
	"internal/bufs":                {},
	"internal/cpulimit":            {ours: []string{"internal/procfile"}},
	"internal/cputime":             {ours: []string{"internal/procfile"}},
	"internal/procfile":            {},
	"internal/engine":              {ours: []string{"reactor", "sched", "internal/atomics", "internal/bubble", "internal/dumptext", "internal/inline", "internal/iosync", "internal/owned", "internal/sock"}},
	"internal/faults":              {},
	"internal/flow":                {ours: []string{"reactor", "internal/bufs"}},
	"internal/mailbox":             {ours: []string{"internal/bufs"}},
	"internal/iosync":              {},
	"internal/saturate":            {},
	"internal/ctxcheck":            {ours: []string{"sched", "internal/ctxend", "internal/onworker"}},
	"internal/ctxend":              {},
	"internal/wakers":              {},
	"internal/seldom":              {},
	"internal/receive":             {},
	"internal/attempts":            {ours: []string{"reactor", "sched", "internal/engine", "internal/eyeballs", "internal/sock"}},
	"internal/deadlines":           {ours: []string{"internal/saturate"}},
	"internal/sock":                {ours: []string{"reactor", "internal/saturate"}},
	"internal/debuglog":            {},
	"internal/dumptext":            {},
	"internal/eyeballs":            {ours: []string{"internal/saturate"}},
	"internal/handover":            {ours: []string{"internal/atomics"}},
	"internal/readiness":           {ours: []string{"internal/atomics", "internal/list"}},
	"internal/accept":              {ours: []string{"reactor", "sched", "internal/admission", "internal/alarm", "internal/background", "internal/bubble", "internal/dumptext", "internal/engine", "internal/handover", "internal/membudget", "internal/sock"}},
	"internal/admission":           {ours: []string{"internal/atomics", "internal/list"}},
	"internal/tlsmem":              {ours: []string{"sched", "internal/background", "internal/panics", "internal/semaphore"}},
	"internal/placement":           {},
	"internal/queue":               {ours: []string{"sched", "internal/bufs", "internal/list", "internal/onworker", "internal/waiter"}},
	"internal/semaphore":           {ours: []string{"internal/atomics", "internal/list"}},
	"internal/membudget":           {ours: []string{"internal/atomics", "internal/list"}},
	"internal/sending":             {ours: []string{"internal/atomics"}},
	"internal/schedtest":           {ours: []string{"sched", "internal/leaks", "internal/patience", "internal/testmode"}},
	"internal/atomics":             {ours: []string{"internal/explore"}},
	"internal/explore":             {},
	"internal/conntest":            {ours: []string{"reactor", "internal/faults", "internal/leaks", "internal/patience"}},
	"internal/cmd":                 {},
	"internal/cmd/relay":           {ours: []string{"conn", "packet", "sched"}},
	"bench":                        {},
}

var public = []string{"timer", "reactor", "sched", "syncx", "chanx", "blocking", "dispatch", "process", "conn", "conn/frame", "conn/proxyproto", "packet", "server", "server/servertest", "metrics", "admin", "console"}

// peers are compared with in modules of their own, as the load generator is
// one, so that they never enter the graph of a user's module.
var peers = []string{
	"github.com/panjf2000/gnet", "github.com/cloudwego/netpoll", "github.com/lesismal/nbio",
	"github.com/tidwall/evio", "github.com/valyala/fasthttp", "github.com/HdrHistogram/hdrhistogram-go",
	"google.golang.org/grpc", "github.com/gorilla/websocket", "github.com/coder/websocket", // of interop
	"github.com/prometheus/client_golang", "go.opentelemetry.io/otel", "charm.land/bubbletea", // of contrib and cmd
}

func within(dir, pkg string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }

// layerOf is the layer of a package, named by its directory in the module, or "".
func layerOf(pkg string) string {
	var best string
	for name := range layers {
		if within(name, pkg) && len(name) > len(best) {
			best = name
		}
	}
	return best
}

// missingArrow says which arrow the design would need for pkg to import what
// it does, or "".
func missingArrow(pkg, imported string) string {
	from := layerOf(pkg)
	if from == "" {
		return fmt.Sprintf("%s, which has no layer, → %s", cmp.Or(pkg, "the root"), imported)
	}
	if !within(module, imported) {
		return missingModule(pkg, from, imported)
	}
	target := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
	to := layerOf(target)
	parent, _, internal := strings.Cut("/"+target+"/", "/internal/")
	switch {
	case internal && parent != "" && !within(strings.TrimPrefix(parent, "/"), pkg):
		return from + " → the inside of " + strings.TrimPrefix(parent, "/")
	case to == "":
		return fmt.Sprintf("%s → %s, which has no layer", from, cmp.Or(target, "the root"))
	case to == from || slices.Contains(layers[from].ours, to):
		return ""
	default:
		return from + " → " + to
	}
}

func missingModule(pkg, from, imported string) string {
	first, _, _ := strings.Cut(imported, "/")
	allowed := append([]string{"golang.org/x/sys", "golang.org/x/net"}, layers[from].others...)
	if strings.HasSuffix(pkg, "test") { // helps tests, as net/http/httptest does
		allowed = append(allowed, "github.com/stretchr/testify")
	}
	switch {
	case !strings.Contains(first, ".") && imported != "C":
		return "" // the standard library
	case slices.ContainsFunc(allowed, func(m string) bool { return within(m, imported) }):
		return ""
	default:
		return from + " → " + imported
	}
}

// An import is one line of a Go file.
type goImport struct {
	pkg, path string
	at        token.Position
}

// importsOf lists the imports of every Go file of a module that is not a test,
// whatever its build constraints. Directories that are modules of their own, or
// that the go command ignores, are not part of it. Modules of examples are.
func importsOf(fsys fs.FS) (all []goImport, err error) {
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(fsys, name)
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			pkg := strings.TrimPrefix(path.Dir(name), ".")
			all = append(all, goImport{pkg, imported, set.Position(spec.Pos())})
		}
		return nil
	})
	return all, err
}

func enter(fsys fs.FS, dir string) error {
	base := path.Base(dir)
	if dir == "." {
		return nil
	}
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "vendor" {
		return fs.SkipDir
	}
	if _, err := fs.Stat(fsys, dir+"/go.mod"); err == nil && !within("examples", dir) && !within("contrib", dir) && !within("cmd", dir) {
		return fs.SkipDir
	}
	return nil
}

// offences lists the imports that the design does not allow, as file:line and
// the arrow that would be needed.
func offences(fsys fs.FS) (all []string, err error) {
	imports, err := importsOf(fsys)
	for _, i := range imports {
		if arrow := missingArrow(i.pkg, i.path); arrow != "" {
			all = append(all, fmt.Sprintf("%s:%d: %s", i.at.Filename, i.at.Line, arrow))
		}
	}
	return all, err
}

// required lists the peers that a go.mod names.
func required(gomod string) (found []string) {
	for lines := bufio.NewScanner(strings.NewReader(gomod)); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "//")
		for _, word := range strings.Fields(line) {
			if slices.ContainsFunc(peers, func(p string) bool { return within(p, strings.Trim(word, `"`)) }) {
				found = append(found, word)
			}
		}
	}
	return found
}

func TestImportsFollowTheArrows(t *testing.T) {
	found, err := offences(os.DirFS("."))
	require.NoError(t, err)
	require.Empty(t, found, "imports that need an arrow the design does not have")
}

func TestTheArrowsAreThere(t *testing.T) {
	imports, err := importsOf(os.DirFS("."))
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, i := range imports {
		if target, ours := strings.CutPrefix(i.path, module+"/"); ours {
			seen[layerOf(i.pkg)+" → "+layerOf(target)] = true
		}
	}
	for _, arrow := range []string{"sched → timer", "conn → reactor", "conn → sched", "server → conn"} {
		require.Contains(t, seen, arrow, "the walk has missed files")
	}
}

func TestEachArrowIsUsed(t *testing.T) {
	imports, err := importsOf(os.DirFS("."))
	require.NoError(t, err)
	used := map[string]bool{}
	for _, i := range imports {
		if target, ours := strings.CutPrefix(i.path, module+"/"); ours {
			used[layerOf(i.pkg)+" → "+layerOf(target)] = true
		}
	}
	for from, l := range layers {
		for _, to := range l.ours {
			if !within("examples", from) { // they may import all that is public
				require.Contains(t, used, from+" → "+to, "no file needs the arrow: remove it")
			}
		}
	}
}

func TestNoPeerIsRequired(t *testing.T) {
	gomod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	require.Empty(t, required(string(gomod)))
}

func TestAPeerThatIsRequiredIsFound(t *testing.T) {
	require.Equal(t, []string{"github.com/panjf2000/gnet/v2", "github.com/valyala/fasthttp"}, required(`
require github.com/panjf2000/gnet/v2 v2.9.8
require (
	github.com/valyala/fasthttp v1.68.0 // indirect
	github.com/valyala/fasthttprouter v1.0.0
	// github.com/tidwall/evio v1.0.8
)`))
}

func TestMissingArrow(t *testing.T) {
	for _, c := range []struct{ pkg, imports, want string }{
		{"timer", "math/bits", ""},
		{"timer", module + "/sched", "timer → sched"},
		{"reactor", module + "/reactor/internal/uring", ""},
		{"reactor", module + "/timer", "reactor → timer"},
		{"sched", module + "/timer", ""},
		{"sched", module + "/reactor", "sched → reactor"},
		{"sched", module + "/internal/list", ""},
		{"timer", module + "/internal/list", "timer → internal/list"},
		{"syncx", module + "/sched", ""},
		{"syncx", module + "/chanx", "syncx → chanx"},
		{"conn", module + "/timer", "conn → timer"},
		{"conn", module + "/server", "conn → server"},
		{"conn", module + "/reactor/internal/uring", "conn → the inside of reactor"},
		{"conn", "golang.org/x/sys/unix", ""},
		{"conn", "github.com/stretchr/testify/require", "conn → github.com/stretchr/testify/require"},
		{"internal/conntest", "github.com/stretchr/testify/require", ""},
		{"internal/conntest", module + "/server", "internal/conntest → server"},
		{"reactor", "github.com/pawelgaczynski/giouring", "reactor → github.com/pawelgaczynski/giouring"},
		{"reactor", "C", "reactor → C"},
		{"server", "github.com/rs/zerolog", "server → github.com/rs/zerolog"},
		{"server", module + "/reactor", "server → reactor"},
		{"server", module + "/examples/http/h1", "server → examples/http/h1"},
		{"examples/echo", module + "/syncx", ""},
		{"examples/http", module + "/examples/http/h1", ""},
		{"examples/http", "github.com/BurntSushi/toml", "examples → github.com/BurntSushi/toml"},
		{"examples/proxy/internal/config", "github.com/BurntSushi/toml", ""},
		{"examples/proxy", module + "/examples/internal/app", ""},
		{"examples/http/h1", "strconv", ""},
		{"examples/http/h1", module + "/timer", "examples/http/h1 → timer"},
		{"examples/http/h1", module + "/server", "examples/http/h1 → server"},
		{"bench/micro", "os/exec", ""},
		{"bench", module + "/server", "bench → server"},
		{"bench", "github.com/HdrHistogram/hdrhistogram-go", "bench → github.com/HdrHistogram/hdrhistogram-go"},
		{"newcomer", "fmt", "newcomer, which has no layer, → fmt"},
		{"server", module + "/newcomer", "server → newcomer, which has no layer"},
		{"server", module, "server → the root, which has no layer"},
		{"serverless", "fmt", "serverless, which has no layer, → fmt"},
	} {
		t.Run(c.pkg+" imports "+c.imports, func(t *testing.T) {
			require.Equal(t, c.want, missingArrow(c.pkg, c.imports))
		})
	}
}

func TestOffencesAreFoundWhateverTheBuildTags(t *testing.T) {
	file := func(src string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(src)} }
	found, err := offences(fstest.MapFS{
		"go.mod":               file("module " + module),
		"sched/worker.go":      file("package sched\n\nimport \"" + module + "/timer\"\n"),
		"sched/iocp_plan9.go":  file("//go:build ignore && never\n\npackage sched\n\nimport (\n\t\"fmt\"\n\tr \"" + module + "/reactor\"\n)\n"),
		"sched/worker_test.go": file("package sched\n\nimport \"" + module + "/conn\"\n"),
		"sched/testdata/x.go":  file("not Go at all"),
		"bench/peers/go.mod":   file("module peers"),
		"bench/peers/main.go":  file("package main\n\nimport \"" + module + "/nowhere\"\n"),
	})
	require.NoError(t, err)
	require.Equal(t, []string{"sched/iocp_plan9.go:7: sched → reactor"}, found)
}
