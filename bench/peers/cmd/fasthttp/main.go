// Command fasthttp is the plaintext server on valyala/fasthttp.
package main

import (
	"github.com/suiro-go/suiro/bench/peers/internal/peer"
	"github.com/valyala/fasthttp"
)

func main() {
	o := peer.HTTPOnly()
	ln := peer.Listen(o.Addr)
	server := &fasthttp.Server{Name: "x", Handler: handle}
	peer.Serve(ln.Addr().String(), func() error { return server.Serve(ln) })
}

func handle(ctx *fasthttp.RequestCtx) {
	if string(ctx.Path()) != "/plaintext" {
		ctx.SetStatusCode(fasthttp.StatusNotFound)
		return
	}
	ctx.SetContentType("text/plain")
	ctx.SetBodyString("Hello, World!")
}
