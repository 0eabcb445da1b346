package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// wrkGrace is how much longer than asked wrk may take, to connect and to end.
const wrkGrace = 20 * time.Second

// load is what wrk reports through bench/pipeline.lua.
type load struct {
	Requests int64 `json:"requests"`
	Micros   int64 `json:"micros"`
	Bytes    int64 `json:"bytes"`

	Connect int64 `json:"connect"` // socket errors
	Read    int64 `json:"read"`
	Write   int64 `json:"write"`
	Timeout int64 `json:"timeout"` // responses slower than 2 s
	Status  int64 `json:"status"`  // responses of 400 and above

	cpu time.Duration // that wrk used
}

func (l load) errors() int64 { return l.Connect + l.Read + l.Write + l.Timeout + l.Status }

func (l load) String() string {
	return fmt.Sprintf("connect %d, read %d, write %d, timeout %d, status %d",
		l.Connect, l.Read, l.Write, l.Timeout, l.Status)
}

// runWrk loads addr for some seconds from one thread on the load CPU.
func runWrk(ctx context.Context, cfg config, addr string, w workload, seconds int) (load, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+wrkGrace)
	defer cancel()
	cmd := exec.CommandContext(ctx, "taskset", "-c", strconv.Itoa(cfg.LoadCPU), "wrk", "-t1",
		"-c"+strconv.Itoa(w.Connections), "-d"+strconv.Itoa(seconds)+"s",
		"-s", filepath.Join(cfg.Root, "bench", "pipeline.lua"),
		"http://"+addr+"/plaintext", "--", strconv.Itoa(w.Depth))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return load{}, fmt.Errorf("wrk: %w: %s", err, oneLine(string(out)))
	}
	l, err := parseWrk(out)
	l.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return l, err
}

func parseWrk(out []byte) (l load, err error) {
	_, line, found := bytes.Cut(out, []byte("wrk-json "))
	if !found {
		return l, fmt.Errorf("wrk did not report: %s", oneLine(string(out)))
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	if err := json.Unmarshal(line, &l); err != nil {
		return l, fmt.Errorf("wrk's report %q: %w", line, err)
	}
	if l.Micros <= 0 || l.Requests <= 0 {
		return l, errors.New("wrk completed no request: " + l.String())
	}
	return l, nil
}
