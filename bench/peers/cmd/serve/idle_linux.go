package main

import (
	"io"
	"net/http"
)

// httpHandler answers with the bytes of plain.Fixed; contenders without net/http write these bytes
// themselves.
func httpHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/plaintext", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		w.Header()["Content-Type"] = []string{"text/plain"}
		io.WriteString(w, "Hello, World!")
	})
	return mux
}
