package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

func TestParseWrk(t *testing.T) {
	out := "Requests/sec: 1\nwrk-json " + `{"requests":100,"micros":2000000,"bytes":1,"connect":1,"read":2,` +
		`"write":3,"timeout":4,"status":5}` + "\n"
	l, err := parseWrk([]byte(out))
	if err != nil || l.Requests != 100 || l.errors() != 15 {
		t.Fatalf("%+v, %v", l, err)
	}
	for name, out := range map[string]string{
		"no report":   "unable to connect\n",
		"no requests": `wrk-json {"requests":0,"micros":2000000,"connect":50}`,
	} {
		if _, err := parseWrk([]byte(out)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestParseStatSurvivesOddNames(t *testing.T) {
	user, sys, err := parseStat([]byte("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 250 0 0"))
	if user != 1.5 || sys != 2.5 || err != nil {
		t.Fatal(user, sys, err)
	}
	if _, _, err := parseStat([]byte("7 (x) Z 1 2 3 4 5 6 7 8 9 10 150 250 0 0")); err == nil {
		t.Fatal("a zombie's times were accepted")
	}
}

func TestParseBusyLeavesIdleOut(t *testing.T) {
	stat := "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 9 9 9 9 9 9 9 9 9 9\ncpu1 100 200 300 7777 8888 10 20 70 5 5\n"
	if busy, err := parseBusy([]byte(stat), 1); busy != 7 || err != nil {
		t.Fatal(busy, err)
	}
	if _, err := parseBusy([]byte(stat), 2); err == nil {
		t.Fatal("CPU 2 was found")
	}
}

func TestReadOwnProcess(t *testing.T) {
	if _, err := readCPU(os.Getpid(), 0); err != nil {
		t.Error(err)
	}
	if has, err := hasRing(os.Getpid()); has || err != nil {
		t.Error(has, err)
	}
}

func TestFindPort(t *testing.T) {
	for line, want := range map[string]string{
		"listening on 127.0.0.1:4711":           "4711",
		`level=INFO msg=up addr=127.0.0.1:4711`: "4711",
		"listening on tcp://127.0.0.1:0":        "",
		"2026-11-20 10:27:49 starting":          "",
	} {
		if got := findPort(line); got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"gnet", "suiro"}, "suiro/io_uring suiro/epoll gnet-coalesced gnet-naive"},
		{[]string{"net"}, "net"},
		{nil, strings.Join(allNames(), " ")},
	} {
		chosen, err := choose(c.names)
		var got []string
		for _, c := range chosen {
			got = append(got, c.name)
		}
		if strings.Join(got, " ") != c.want || err != nil {
			t.Errorf("%v: %v, %v", c.names, got, err)
		}
	}
	if _, err := choose([]string{"gnat"}); err == nil {
		t.Error("a typo was accepted")
	}
}

// runOf makes a second's sample with a rate and a CPU time per request.
func runOf(name string, round int, requests int64, micros float64) sample {
	cpu := micros * float64(requests) / 1e6
	return sample{Contender: name, Workload: workload{50, 1}, Round: round, UserSec: cpu / 4, SysSec: cpu * 3 / 4,
		Load: load{Requests: requests, Micros: 1e6}}
}

func TestRatiosAreTakenWithinRounds(t *testing.T) {
	samples := []sample{ // the machine halves its speed from round to round
		runOf("base", 0, 1000, 5), runOf("other", 0, 800, 6),
		runOf("base", 1, 500, 10), runOf("other", 1, 400, 12),
		runOf("base", 2, 250, 20), runOf("other", 2, 200, 24),
	}
	other := summarise(samples, []string{"base"})[1]
	for what, c := range map[string]struct{ got, want float64 }{
		"rate ratio": {other.Ratios[0].Rate.Max, 0.8},
		"cpu ratio":  {other.Ratios[0].CPU.Min, 1.2},
		"rate":       {other.Rate.Median, 400},
		"cpu":        {other.CPU.Median, 12},
		"user":       {other.User.Median, 3},
		"sys":        {other.Sys.Median, 9},
	} {
		if d := c.got - c.want; d > 1e-9 || d < -1e-9 {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
}

func TestFailedRoundsAreMarkedAndNotAveraged(t *testing.T) {
	bad := runOf("a", 1, 9999, 1)
	bad.Load.Read = 3
	rows := summarise([]sample{runOf("a", 0, 100, 5), bad}, nil)
	if r := rows[0]; r.Failed != 1 || r.Errors != 3 || r.Rate.Max != 100 {
		t.Fatalf("%+v", r)
	}
	var out strings.Builder
	rep := report{Rows: rows, Samples: []sample{bad}, Missing: map[string]string{"evio": "no compiler"}}
	wanted := []contender{{name: "a"}, {name: "evio"}}
	writeMarkdown(&out, rep, wanted, []workload{{50, 1}})
	for _, want := range []string{"| **✗** a | 0.1 k (0.1–0.1) |", "**3; 1 of 2 rounds failed**", "read 3",
		"| evio | **missing** |", "missing: evio: no compiler"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
}

func TestCheckHTTP(t *testing.T) {
	handler := func(body string, status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/plaintext" {
				w.WriteHeader(status)
			}
			io.WriteString(w, body)
		})
	}
	for _, c := range []struct {
		name    string
		handler http.Handler
		want    string // in the error; "" for none
	}{
		{"right", handler("Hello, World!", 404), ""},
		{"wrong body", handler("Hello, World.", 404), "one request"},
		{"no routing", handler("Hello, World!", 200), "unknown path"},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := httptest.NewServer(c.handler)
			defer srv.Close()
			err := checkHTTP(srv.Listener.Addr().String())
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
		})
	}
}
