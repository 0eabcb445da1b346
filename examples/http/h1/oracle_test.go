package h1_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http/httpguts"

	"github.com/suiro-go/suiro/examples/http/h1"
)

func parse(raw string) (req h1.Request, err error) {
	var p h1.Parser
	n, err := p.ParseHead([]byte(raw), &req)
	if err == nil && n != len(raw) {
		err = fmt.Errorf("%d of %d bytes consumed", n, len(raw))
	}
	return req, err
}

func TestFieldNameBytes(t *testing.T) {
	for c := range 256 {
		for _, name := range []string{"X" + string([]byte{byte(c)}), string([]byte{byte(c)}) + "X"} {
			if strings.Contains(name, ":") {
				continue // ends the name
			}
			req, err := parse("GET / HTTP/1.1\r\nHost: a\r\n" + name + ": y\r\n\r\n")
			valid := httpguts.ValidHeaderFieldName(name)
			assert.Equal(t, valid, err == nil, "%q: %v", name, err)
			if valid {
				assert.Equal(t, "y", string(req.Header(strings.ToUpper(name))), "%q", name)
			}
			_, err = parse(name + " / HTTP/1.1\r\nHost: a\r\n\r\n")
			assert.Equal(t, valid, err == nil, "method %q", name)
		}
	}
}

// Every byte at every place of values of every length up to 24: eight bytes are looked at in one
// step.
func TestFieldValueBytes(t *testing.T) {
	for length := 1; length <= 24; length++ {
		for at := range length {
			for c := range 256 {
				b := []byte(strings.Repeat("\xe9~v ", 6)[:length])
				b[at] = byte(c)
				value := string(b)
				req, err := parse("GET / HTTP/1.1\r\nHost: a\r\nX: " + value + "\r\n\r\n")
				valid := httpguts.ValidHeaderFieldValue(value)
				require.Equal(t, valid, err == nil, "%q: %v", value, err)
				if valid {
					require.Equal(t, strings.Trim(value, " \t"), string(req.Header("x")))
				}
			}
		}
	}
}

// httpguts is looser about a Host. Each Host that the parser accepts must be valid for httpguts
// too.
func TestHostBytes(t *testing.T) {
	for c := range 256 {
		host := "a" + string([]byte{byte(c)})
		req, err := parse("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
		if err == nil {
			host = strings.Trim(host, " \t")
			assert.True(t, httpguts.ValidHostHeader(host), "%q", host)
			assert.Equal(t, host, string(req.Host))
		}
	}
}

func TestRandomRequestsAgainstNetHTTP(t *testing.T) {
	for seed := range uint64(2000) {
		raw := randomRequest(rand.New(rand.NewPCG(seed, 1)))
		rec := record(t, raw, nil, randomly(seed))
		require.Empty(t, rec.Verdict, "seed %d: %q", seed, raw)
		require.Zero(t, rec.Left)
		require.Len(t, rec.Messages, 1)
		compareNetHTTP(t, rec.Messages[0])
	}
}

func TestAcceptedCasesAgainstNetHTTP(t *testing.T) {
	for _, raw := range seeds(t) {
		for _, m := range record(t, raw, nil, inOne).Messages {
			if m.Complete {
				compareNetHTTP(t, m)
			}
		}
	}
}

// randomRequest writes a valid request.
func randomRequest(r *rand.Rand) []byte {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	minor := pick("0", "1", "1", "1")
	raw := pick("GET", "POST", "PUT", "DELETE", "PATCH", "BREW", "m-x!") + " " +
		pick("/", "/a/b.c", "/a?b=c&d=%41", "//x", "/%7e?", "http://b.example:80/p?q", "http://b", "https://[::1]/") +
		" HTTP/1." + minor + "\r\n"
	host := pick("Host", "host", "HOST") + ":" + pick("", " ", "\t") + pick("a", "a.example:8080", "[::1]:80", "1.2.3.4") + "\r\n"
	var fields []string
	for range r.IntN(30) {
		fields = append(fields, pick("X-A", "accept", "User-Agent", "x_y", "Cookie")+":"+
			pick("", " ", " \t")+pick("", "v", "a b\tc", "text/html, */*;q=0.8", "\xe9t\xe9")+pick("", " ")+"\r\n")
	}
	if r.IntN(3) == 0 {
		fields = append(fields, "Connection: "+pick("close", "keep-alive", "Keep-Alive, x", "x, CLOSE")+"\r\n")
	}
	body := ""
	switch r.IntN(3) {
	case 0:
		body = strings.Repeat("b", r.IntN(100))
		fields = append(fields, fmt.Sprintf("%s: %d\r\n", pick("Content-Length", "content-length"), len(body)))
	case 1:
		if minor == "0" {
			break
		}
		fields = append(fields, "Transfer-Encoding: "+pick("chunked", "Chunked")+"\r\n")
		for range r.IntN(5) {
			body += string(h1.AppendChunk(nil, []byte(strings.Repeat("c", r.IntN(40)))))
		}
		body += pick("0\r\n", "000\r\n", "0;x=y\r\n") + pick("", "X-Sum: 1\r\n", "X-Sum:\r\nY: z\r\n") + "\r\n"
	}
	fields = append(fields, host)
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return []byte(raw + strings.Join(fields, "") + "\r\n" + body)
}
