package h1_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/examples/http/h1"
)

const (
	plain = "GET /plaintext HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"

	browser = "GET /articles/2024/waterways?page=2&sort=new HTTP/1.1\r\n" +
		"Host: www.example.com\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8\r\n" +
		"Accept-Language: en-GB,en;q=0.7,de;q=0.3\r\n" +
		"Accept-Encoding: gzip, deflate, br, zstd\r\n" +
		"Referer: https://www.example.com/articles/2024/\r\n" +
		"Connection: keep-alive\r\n" +
		"Cookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\n" +
		"Upgrade-Insecure-Requests: 1\r\n" +
		"Sec-Fetch-Dest: document\r\n" +
		"Sec-Fetch-Mode: navigate\r\n" +
		"Cache-Control: max-age=0\r\n\r\n"

	chunkedPost = "POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
)

func BenchmarkPlain(b *testing.B)      { benchmark(b, []byte(plain), 1) }
func BenchmarkPipeline16(b *testing.B) { benchmark(b, bytes.Repeat([]byte(plain), 16), 16) }
func BenchmarkBrowser(b *testing.B)    { benchmark(b, []byte(browser), 1) }

func BenchmarkChunked(b *testing.B) {
	raw := []byte(chunkedPost)
	for range 16 {
		raw = h1.AppendChunk(raw, make([]byte, 1024))
	}
	benchmark(b, append(raw, h1.LastChunk...), 1)
}

func BenchmarkByteAtATime(b *testing.B) {
	raw := []byte(browser)
	var p h1.Parser
	var req h1.Request
	b.ReportAllocs()
	for b.Loop() {
		for i := range raw {
			if _, err := p.ParseHead(raw[:i+1], &req); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func benchmark(b *testing.B, raw []byte, requests int) {
	var p h1.Parser
	var req h1.Request
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if n := drain(&p, &req, raw); n != requests {
			b.Fatalf("%d requests", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*requests), "ns/req")
}

// drain counts the complete requests in raw.
func drain(p *h1.Parser, req *h1.Request, raw []byte) (requests int) {
	for len(raw) > 0 {
		n, err := p.ParseHead(raw, req)
		if n == 0 || err != nil {
			return -1
		}
		raw = raw[n:]
		for done := !req.HasBody(); !done; raw = raw[n:] {
			if n, _, done, err = p.ParseBody(raw); err != nil || n == 0 {
				return -1
			}
		}
		requests++
	}
	return requests
}

func BenchmarkAppendHead(b *testing.B) {
	var dates h1.DateCache
	dst := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		dst = h1.AppendHead(dst[:0], h1.Head{
			Status: 200, ContentType: "text/plain", ContentLength: 13, Minor: 1, Date: dates.At(1 << 30),
		})
	}
}

func TestNoAllocation(t *testing.T) {
	var p h1.Parser
	var req h1.Request
	var dates h1.DateCache
	dst := make([]byte, 0, 512)
	chunkedRaw := chunkedPost + "5;a=b\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"
	for _, raw := range []string{plain, browser, chunkedRaw} {
		input := []byte(raw)
		require.Equal(t, 1, drain(&p, &req, input))
		require.Zero(t, testing.AllocsPerRun(100, func() { drain(&p, &req, input) }), raw)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			for range req.Headers() {
			}
			req.Header("none")
		}), raw)
	}
	many := []byte(plain[:len(plain)-2] + string(bytes.Repeat([]byte("X: y\r\n"), 100)) + "\r\n")
	require.Equal(t, 1, drain(&p, &req, many))
	require.Zero(t, testing.AllocsPerRun(100, func() { drain(&p, &req, many) }), "room for fields is kept")
	second := int64(1)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		second++
		dst = h1.AppendHead(dst[:0], h1.Head{Status: 404, ContentLength: 3, Date: dates.At(second)})
		dst = h1.AppendError(dst, &h1.Error{Status: 400, Reason: "x"}, nil)
	}))
}
