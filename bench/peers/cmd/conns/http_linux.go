package main

import (
	"io"
	"net/http"
)

// What the load of kind http asks, and every contender answers: those that have net/http, or run it, by that, the
// others with these bytes.
const (
	httpRequest = "GET /plaintext HTTP/1.1\r\nHost: localhost\r\n\r\n"
	httpReply   = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
)

func httpHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/plaintext", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		w.Header()["Content-Type"] = []string{"text/plain"}
		io.WriteString(w, "Hello, World!")
	})
	return mux
}
