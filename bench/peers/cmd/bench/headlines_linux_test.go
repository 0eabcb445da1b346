package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/suiro-go/suiro/bench/figures"
)

func headlineReport(root string) *report {
	rep := &report{}
	rep.Config.Root = root
	rep.Environment.Date, rep.Environment.Commit, rep.Environment.CPU = "2026-01-02T03:04:05Z", "abc", "A CPU"
	for round, figure := range []float64{1, 3, 2} {
		for name, of := range map[string]float64{"suiro/epoll": figure, "suiro/io_uring": 2 * figure, "net": 2} {
			rep.Samples = append(rep.Samples, sample{Contender: name, Workload: "echo64-50", Round: round, Figure: of})
		}
	}
	return rep
}

func TestARunHasTheMediansOfItsHeadlines(t *testing.T) {
	got := headlinesOf(headlineReport(""))
	want := figures.Run{Date: "2026-01-02T03:04:05Z", Commit: "abc", CPU: "A CPU",
		Ratios: map[string]map[string]float64{figures.Headlines[0].Key(): {"epoll": 1, "io_uring": 2}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestHeadlinesAreOfContendersAndWorkloadsThatThereAre(t *testing.T) {
	for _, h := range figures.Headlines {
		loads, err := chooseWorkloads([]string{h.Workload})
		i := slices.IndexFunc(loads, func(w workload) bool { return w.Name == h.Workload })
		if err != nil || i < 0 {
			t.Fatalf("%s: %v, %v", h.Workload, loads, err)
		}
		names := contendersOf(config{}, loads[i])
		all := strings.Join(names, " ")
		for _, name := range []string{h.Server + "/epoll", h.Server + "/io_uring", h.Peer} {
			if !strings.Contains(" "+all+" ", " "+name+" ") {
				t.Errorf("%s: no %s among %s", h.Workload, name, all)
			}
		}
	}
}

func TestARunRenewsTheTableOfReadme(t *testing.T) {
	root := t.TempDir()
	const readme = "a\n<!-- figures: written by go run ./bench -results bench -->\n<!-- end of figures -->\nb\n"
	if err := os.WriteFile(filepath.Join(root, "README.md"), []byte(readme), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second one is the same run again
		if err := tellHeadlines(root, headlineReport(root)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil || !strings.Contains(string(text), "| 1.00 | 2.00 | `echo64-50` |") {
		t.Errorf("%v: %s", err, text)
	}
	var h figures.History
	data, err := os.ReadFile(filepath.Join(root, "history.json"))
	if err == nil {
		err = json.Unmarshal(data, &h)
	}
	if err != nil || len(h.Runs) != 1 {
		t.Errorf("%v: %s", err, data)
	}
}

func TestARunWithoutWorkloadsOfTheTableChangesNothing(t *testing.T) {
	root := t.TempDir()
	if err := tellHeadlines(root, &report{Config: config{Root: root}}); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("%v: %v", err, left)
	}
}
