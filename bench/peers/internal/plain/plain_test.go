package plain

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

const request = "GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n"

func TestMain(m *testing.M) {
	render(time.Unix(0, 0))
	m.Run()
}

func TestResponseIsExact(t *testing.T) {
	want := "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Type: text/plain\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n" +
		"Content-Length: 13\r\n\r\nHello, World!"
	got, used, ok := HTTP([]byte(request))
	if string(got) != want || used != len(request) || !ok {
		t.Fatalf("got %q, used %d, ok %v", got, used, ok)
	}
}

func TestOtherPathIsNotFound(t *testing.T) {
	got, _, _ := HTTP([]byte("GET /plaintext2 HTTP/1.1\r\n\r\n"))
	if !bytes.HasPrefix(got, []byte("HTTP/1.1 404 ")) {
		t.Fatalf("got %q", got)
	}
}

func TestEverySplitOfAPipelineGivesTheSameAnswers(t *testing.T) {
	in := strings.Repeat(request, 3)
	want, _, _ := All(HTTP, nil, []byte(in))
	if n := bytes.Count(want, []byte("Hello, World!")); n != 3 {
		t.Fatalf("%d answers to 3 requests", n)
	}
	for i := range len(in) {
		var c Carry
		got, ok := c.All(HTTP, nil, []byte(in[:i]))
		if !ok {
			t.Fatalf("split at %d refused", i)
		}
		got, ok = c.All(HTTP, got, []byte(in[i:]))
		if !ok || !bytes.Equal(got, want) || len(c.rest) != 0 {
			t.Fatalf("split at %d: ok %v, rest %q, got %q", i, ok, c.rest, got)
		}
	}
}

func TestEndlessHeadIsRefused(t *testing.T) {
	if _, _, ok := HTTP(make([]byte, maxHead+1)); ok {
		t.Fatal("a head without end was accepted")
	}
}
