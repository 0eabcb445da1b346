// Package console is a page on which a person watches a running server: what each worker runs now,
// slow handlers with their stacks, connections, listeners, timers, pools and warnings. The page is
// live, by server-sent events, and needs nothing but this package.
//
//	s := &server.Server{Addr: ":9000", Handler: h, Events: 4096}
//	admin := &server.Server{Addr: "127.0.0.1:9001", Handler: server.HTTP(console.Handler(s, nil))}
//	err := server.Run(ctx, s, admin)
//
// The second server has workers of its own, so the page answers also while those of the first one
// are stuck. A person who can reach the page sees addresses of peers and stacks, and can close
// connections. Listen on a loopback address, or put a proxy with authentication before it.
//
// No GET changes anything. A POST needs the header Suiro-Console and, if the browser sends them, an
// Origin and a Sec-Fetch-Site of the page itself. Requests for another host than an IP address,
// localhost or one of Config.Hosts are refused, so a foreign name that resolves to this address is
// of no use (DNS rebinding). Text from peers is only ever shown as text.
package console
