package h1_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/suiro-go/suiro/examples/http/h1"
)

// Two pipelined requests, one with a body, and a third that is not to be served.
func Example() {
	var (
		parser h1.Parser
		req    h1.Request
		out    []byte // responses, to be sent
	)
	buf := []byte("GET /a?b=c HTTP/1.1\r\nHost: example.com\r\n\r\n" +
		"POST /d HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" +
		"GET /e HTTP/1.1\r\nHost : example.com\r\n\r\n")
	serve := func() error {
		for {
			n, err := parser.ParseHead(buf, &req)
			if err != nil || n == 0 {
				return err // no error: read more, come back
			}
			fmt.Printf("%s %s from %s", req.Method, req.Path, req.Header("host"))
			buf = buf[n:]
			for done := false; !done; buf = buf[n:] {
				var chunk []byte
				if n, chunk, done, err = parser.ParseBody(buf); err != nil {
					return err
				}
				if n == 0 && !done {
					return nil // a real server would note that it is inside a body
				}
				if len(chunk) > 0 {
					fmt.Printf(": %s", chunk)
				}
			}
			fmt.Println()
			out = h1.AppendHead(out, h1.Head{Status: 204, Minor: req.Minor, Close: !req.KeepAlive})
		}
	}
	var rejected *h1.Error
	if errors.As(serve(), &rejected) {
		out = h1.AppendError(out, rejected, nil) // send, then close
	}
	fmt.Println(strings.ReplaceAll(string(out), "\r\n", "\n"))
	// Output:
	// GET /a from example.com
	// POST /d from example.com: hello
	// HTTP/1.1 204 No Content
	//
	// HTTP/1.1 204 No Content
	//
	// HTTP/1.1 400 Bad Request
	// Content-Type: text/plain; charset=utf-8
	// Content-Length: 21
	// Connection: close
	//
	// malformed field name
}
