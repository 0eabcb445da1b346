package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	checkTimeout = 5 * time.Second
	splitPause   = 20 * time.Millisecond
)

// checkHTTP makes sure that a server's speed is that of right answers: whole requests, a request in
// two pieces, a pipeline, and a path that does not exist.
func checkHTTP(addr string) error {
	c, err := net.DialTimeout("tcp", addr, checkTimeout)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(checkTimeout))
	r := bufio.NewReader(c)
	request := "GET /plaintext HTTP/1.1\r\nHost: " + addr + "\r\n\r\n"

	_, _ = io.WriteString(c, request) // if a write fails, there is no answer
	if err := checkAnswer(r); err != nil {
		return fmt.Errorf("one request: %w", err)
	}
	_, _ = io.WriteString(c, request[:len(request)-3])
	time.Sleep(splitPause) // so that the pieces arrive apart; whether they do decides nothing
	_, _ = io.WriteString(c, request[len(request)-3:])
	if err := checkAnswer(r); err != nil {
		return fmt.Errorf("request in two pieces: %w", err)
	}
	_, _ = io.WriteString(c, strings.Repeat(request, 16))
	for i := range 16 {
		if err := checkAnswer(r); err != nil {
			return fmt.Errorf("pipeline of 16, answer %d: %w", i+1, err)
		}
	}
	_, _ = io.WriteString(c, strings.Replace(request, "/plaintext", "/no-such-path", 1))
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return fmt.Errorf("unknown path: %w", err)
	}
	_ = res.Body.Close()
	// The peers have no other path; Suiro's example echoes the body, which is empty.
	if res.StatusCode != http.StatusNotFound && !(res.StatusCode == http.StatusOK && res.ContentLength == 0) {
		return fmt.Errorf("unknown path: status %d with %d bytes", res.StatusCode, res.ContentLength)
	}
	return nil
}

func checkAnswer(r *bufio.Reader) error {
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || string(body) != "Hello, World!" || res.ContentLength != 13 {
		return fmt.Errorf("status %d, Content-Length %d, body %q", res.StatusCode, res.ContentLength, body)
	}
	if ct := res.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/plain") {
		return fmt.Errorf("the Content-Type is %q", ct)
	}
	date, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		return err
	}
	if age := time.Since(date).Abs(); age > 3*time.Second {
		return fmt.Errorf("the Date is %v off", age)
	}
	return nil
}
