package main

import "github.com/suiro-go/suiro/server"

// servers are the contenders: each serves on a free port of the loopback until the process ends.
var servers = map[string]func(service) error{
	"net":      func(s service) error { return s.serveNet(s.loop) },
	"net-copy": func(s service) error { return s.serveNet(s.copy) },
	"gnet":     func(s service) error { return s.plain(serveGnet) },
	"gnet-et":  func(s service) error { return s.plain(serveGnetEdgeTriggered) },
	"evio":     func(s service) error { return s.plain(serveEvio) },
	"nbio":     func(s service) error { return s.plain(serveNbio) },
	"netpoll":  func(s service) error { return s.plain(serveNetpoll) },

	"suiro/io_uring": func(s service) error { return s.serveSuiro(&suiroHandler{service: s}, "io_uring") },
	"suiro/epoll":    func(s service) error { return s.serveSuiro(&suiroHandler{service: s}, "epoll") },

	"suiro-h1/io_uring": func(s service) error { return s.serveSuiro(&h1Handler{suiroHandler{service: s}}, "io_uring") },
	"suiro-h1/epoll":    func(s service) error { return s.serveSuiro(&h1Handler{suiroHandler{service: s}}, "epoll") },

	"suiro-defer/io_uring": func(s service) error { return s.deferring().serveSuiro(&suiroHandler{service: s}, "io_uring") },
	"suiro-defer/epoll":    func(s service) error { return s.deferring().serveSuiro(&suiroHandler{service: s}, "epoll") },

	"suiro-coalesce/epoll": func(s service) error { return s.coalescing().serveSuiro(&suiroHandler{service: s}, "epoll") },

	"suiro-sequential/io_uring": func(s service) error { return s.serveSuiro(server.Sequential(s.stream), "io_uring") },
	"suiro-sequential/epoll":    func(s service) error { return s.serveSuiro(server.Sequential(s.stream), "epoll") },

	"suiro-buffered/io_uring": func(s service) error { return s.serveSuiro(server.Sequential(s.buffered), "io_uring") },
	"suiro-buffered/epoll":    func(s service) error { return s.serveSuiro(server.Sequential(s.buffered), "epoll") },
}
