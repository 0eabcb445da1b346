package h1_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/examples/http/h1"
)

// testCase is bytes sent on one connection, and the outcomes that are right.
type testCase struct {
	ID     int     `json:"id"`
	RFC    string  `json:"rfc"`
	Desc   string  `json:"desc"`
	Raw    *string `json:"raw"` // Latin-1; null: Recipe
	Recipe struct {
		Head   string `json:"head"`
		Repeat string `json:"repeat"`
		Count  int    `json:"count"`
		Tail   string `json:"tail"`
	} `json:"recipe"`
	Out []expectation `json:"out"`
}

// expectation without N: one response with a status among S; none if S is empty. With N: that many
// responses of 200, the first with Body.
type expectation struct {
	S    []int  `json:"s"`
	C    *bool  `json:"c"` // the server closes; null: either
	N    int    `json:"n"`
	Body string `json:"body"`
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
	raw := make([]byte, 0, text.Len())
	for _, r := range text.String() {
		raw = append(raw, byte(r)) // Latin-1
	}
	return raw
}

func TestCases(t *testing.T) {
	for _, file := range []string{"testdata/cases.json", "testdata/more.json"} {
		for _, c := range loadCases(t, file) {
			t.Run(fmt.Sprintf("%d %s", c.ID, c.Desc), func(t *testing.T) {
				raw := c.bytes()
				whole := converse(t, raw, inOne)
				require.True(t, slices.ContainsFunc(c.Out, whole.meets), "%+v is none of %+v", whole, c.Out)
				require.Equal(t, whole, converse(t, raw, byByte), "byte by byte")
				for seed := range uint64(8) {
					require.Equal(t, whole, converse(t, raw, randomly(seed)), "random pieces, seed %d", seed)
				}
			})
		}
	}
}

func loadCases(t testing.TB, file string) (cases []testCase) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &cases))
	require.NotEmpty(t, cases)
	return cases
}

// outcome is what a client sees, interim responses apart.
type outcome struct {
	Statuses []int
	Bodies   []string
	Closed   bool
}

func (o outcome) meets(e expectation) bool {
	if e.C != nil && *e.C != o.Closed {
		return false
	}
	if e.N > 0 {
		only200 := !slices.ContainsFunc(o.Statuses, func(s int) bool { return s != 200 })
		return only200 && len(o.Statuses) == e.N && o.Bodies[0] == e.Body
	}
	if len(e.S) == 0 {
		return len(o.Statuses) == 0
	}
	return len(o.Statuses) == 1 && slices.Contains(e.S, o.Statuses[0])
}

// A split says how long the next piece of left bytes is.
type split func(left int) int

func inOne(left int) int { return left }
func byByte(int) int     { return 1 }

func randomly(seed uint64) split {
	random := rand.New(rand.NewPCG(seed, 0))
	return func(left int) int { return min(left, 1+random.IntN(1+random.IntN(40))) }
}

// converse sends raw to a fresh server, piece by piece.
func converse(t testing.TB, raw []byte, next split) outcome {
	var s server
	for len(raw) > 0 {
		n := next(len(raw))
		s.receive(raw[:n])
		raw = raw[n:]
	}
	return s.outcome(t)
}

// server answers 200 and the request's body to everything, over nothing but memory.
type server struct {
	parser  h1.Parser
	req     h1.Request
	buf     []byte // received, not consumed
	out     []byte
	body    []byte
	inBody  bool
	methods []string // of the requests taken up
	verdict *h1.Error
	closed  bool
}

func (s *server) receive(piece []byte) {
	if s.closed {
		return
	}
	if len(s.buf) < 1<<10 { // elsewhere every time; the old place gets overwritten
		old := s.buf
		s.buf = slices.Concat(old, piece)
		for i := range old {
			old[i] = 0xff
		}
	} else {
		s.buf = append(s.buf, piece...)
	}
	for !s.closed && s.step() {
	}
}

// step reports whether it got on.
func (s *server) step() bool {
	if !s.inBody {
		n, err := s.parser.ParseHead(s.buf, &s.req)
		if err != nil {
			s.reject(err)
			return false
		}
		if n == 0 {
			return false
		}
		s.methods = append(s.methods, string(s.req.Method))
		if s.req.ExpectContinue {
			s.out = append(s.out, h1.Continue100...)
		}
		s.buf = s.buf[n:]
		s.inBody, s.body = true, nil
	}
	n, chunk, done, err := s.parser.ParseBody(s.buf)
	if err != nil {
		s.reject(err)
		return false
	}
	s.body = append(s.body, chunk...)
	s.buf = s.buf[n:]
	if done {
		s.answer()
	}
	return done || n > 0
}

func (s *server) answer() {
	s.inBody = false
	s.out = h1.AppendHead(s.out, h1.Head{
		Status:        200,
		ContentLength: int64(len(s.body)),
		Minor:         s.req.Minor,
		Close:         !s.req.KeepAlive,
	})
	if s.methods[len(s.methods)-1] != "HEAD" {
		s.out = append(s.out, s.body...)
	}
	s.closed = !s.req.KeepAlive
}

func (s *server) reject(err error) {
	if !errors.As(err, &s.verdict) {
		panic(err)
	}
	s.out = h1.AppendError(s.out, s.verdict, nil)
	s.closed = true
}

// outcome reads the responses as a client does, and checks that a rejection was the last word.
func (s *server) outcome(t testing.TB) outcome {
	o := outcome{Closed: s.closed}
	in := bufio.NewReader(bytes.NewReader(s.out))
	for i := 0; ; i++ {
		if _, err := in.Peek(1); err != nil {
			break
		}
		req := &http.Request{Method: "GET"}
		if i < len(s.methods) && s.methods[i] == "HEAD" {
			req.Method = "HEAD"
		}
		resp, err := http.ReadResponse(in, req)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		if resp.StatusCode == 100 {
			i--
			continue
		}
		o.Statuses = append(o.Statuses, resp.StatusCode)
		o.Bodies = append(o.Bodies, string(body))
		if resp.Close {
			assert.True(t, s.closed, "Connection: close promises to")
			_, err := in.Peek(1)
			assert.ErrorIs(t, err, io.EOF, "nothing follows a response that closes")
		}
	}
	if n := len(o.Statuses); n > 0 && o.Statuses[n-1] >= 400 {
		smuggled, err := s.parser.ParseHead([]byte(plain), &s.req)
		assert.Zero(t, smuggled)
		assert.Error(t, err, "a failed parser takes no further request")
	}
	return o
}
