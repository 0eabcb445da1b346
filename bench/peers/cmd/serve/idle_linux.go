package main

import (
	"io"
	"net/http"
)

// httpHandler answers with the bytes of plain.Fixed; those contenders that have no net/http write
// them.
func httpHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/plaintext", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		w.Header()["Content-Type"] = []string{"text/plain"}
		io.WriteString(w, "Hello, World!")
	})
	return mux
}
