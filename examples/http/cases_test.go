package main

import (
	"bufio"
	stdjson "encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// testCase is bytes sent on one connection, and the outcomes that are right: see
// the tests of h1, whose cases these are.
type testCase struct {
	ID     int
	Desc   string
	Raw    *string // Latin-1; null: Recipe
	Recipe struct {
		Head, Repeat, Tail string
		Count              int
	}
	Out []expectation
}

// An expectation without N is one response with a status among S, or none; with
// N that many of 200, the first with Body. C says whether the server closes.
type expectation struct {
	S    []int
	C    *bool
	N    int
	Body string
}

func (c *testCase) bytes() []byte {
	var text strings.Builder
	text.WriteString(c.Recipe.Head)
	if c.Raw != nil {
		text.WriteString(*c.Raw)
	}
	for i := range c.Recipe.Count {
		if strings.Contains(c.Recipe.Repeat, "%") {
			fmt.Fprintf(&text, c.Recipe.Repeat, i)
		} else {
			text.WriteString(c.Recipe.Repeat)
		}
	}
	text.WriteString(c.Recipe.Tail)
	var raw []byte
	for _, r := range text.String() {
		raw = append(raw, byte(r))
	}
	return raw
}

type outcome struct {
	statuses []int
	bodies   []string
	closed   bool
}

func (o outcome) meets(e expectation) bool {
	switch {
	case e.C != nil && *e.C != o.closed:
		return false
	case e.N > 0:
		return len(o.statuses) == e.N && o.bodies[0] == e.Body &&
			!slices.ContainsFunc(o.statuses, func(s int) bool { return s != 200 })
	case len(e.S) == 0:
		return len(o.statuses) == 0
	default:
		return len(o.statuses) == 1 && slices.Contains(e.S, o.statuses[0])
	}
}

// probe is answered in its turn by a connection that is still open.
const probe = "POST /probe HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nstill open"

// converse sends raw in pieces, then the probe and a FIN, and reads everything.
func converse(s *site, raw []byte, piece func(left int) int) (o outcome, err error) {
	c, err := s.connect()
	if err != nil {
		return o, err
	}
	defer c.Close()
	sent := make(chan error, 1)
	go func() {
		for rest := raw; len(rest) > 0; {
			n := piece(len(rest))
			if _, err := c.Write(rest[:n]); err != nil {
				sent <- err
				return
			}
			rest = rest[n:]
		}
		_, err := io.WriteString(c, probe)
		_ = c.(*net.TCPConn).CloseWrite()
		sent <- err
	}()
	o.closed = true
	for in := bufio.NewReader(c); ; {
		if _, err := in.Peek(1); err == io.EOF {
			return o, <-sent
		}
		resp, err := http.ReadResponse(in, &http.Request{Method: "GET"})
		if err != nil {
			return o, err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return o, err
		}
		if string(body) == "still open" {
			o.closed = false
			continue
		}
		if !o.closed {
			return o, fmt.Errorf("a response after that to the probe: %d", resp.StatusCode)
		}
		o.statuses, o.bodies = append(o.statuses, resp.StatusCode), append(o.bodies, string(body))
	}
}

func TestCasesOverSockets(t *testing.T) {
	var cases []testCase
	text, err := os.ReadFile("h1/testdata/cases.json")
	require.NoError(t, err)
	require.NoError(t, stdjson.Unmarshal(text, &cases))
	require.Len(t, cases, 30)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := serve(t, backend, workers)
		for _, c := range cases {
			t.Run(fmt.Sprintf("%d %s", c.ID, c.Desc), func(t *testing.T) {
				raw := c.bytes()
				check := func(how string, piece func(left int) int) {
					t.Helper()
					o, err := converse(s, raw, piece)
					require.NoError(t, err, how)
					require.True(t, slices.ContainsFunc(c.Out, o.meets), "%s: %+v is none of %+v", how, o, c.Out)
				}
				check("at once", func(left int) int { return left })
				longest := 40
				if len(raw) < 1000 {
					check("byte by byte", func(int) int { return 1 })
				} else {
					longest = 20_000
				}
				for seed := range uint64(3) {
					r := rand.New(rand.NewPCG(seed, 9112))
					check(fmt.Sprint("in random pieces, seed ", seed), func(left int) int { return min(left, 1+r.IntN(longest)) })
				}
			})
		}
	})
}
