// Crawler fetches pages and, with -follow, those on the same host to which they link.
//
//	go run ./examples/crawler [-follow] [-conns 8] [-timeout 10s] [-backend io_uring|epoll] URL…
package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/internal/app"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
	"github.com/suiro-go/suiro/syncx"
)

// maxPage bounds a page with its header, in bytes.
const maxPage = 4 << 20

var (
	conns   = flag.Int("conns", 8, "how many `connections` there are at a time")
	follow  = flag.Bool("follow", false, "also fetch the pages on the same host to which pages link")
	most    = flag.Int("max", 1000, "how many `pages` are fetched at most")
	timeout = flag.Duration("timeout", 10*time.Second, "how long a page may take, from the dial on")

	link = regexp.MustCompile(`(?i)<a\s[^>]*?href\s*=\s*["']?([^"'\s>]+)`)
)

type page struct {
	url    *url.URL
	status int
	size   int
	links  []*url.URL // on the same host
}

func main() { app.Client("crawler", run) }

func run(ctx context.Context, group *conn.Group) error {
	var start []*url.URL
	for _, arg := range flag.Args() {
		u, err := url.Parse(arg)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return fmt.Errorf("%q is no URL of HTTP; use one such as http://host/path", arg)
		}
		start = append(start, u)
	}
	if len(start) == 0 || *conns < 1 {
		return errors.New("use -conns of 1 or more, and one URL or more")
	}
	return fetchAll(ctx, group, start)
}

// fetchAll fetches pages, each in a task of its own, until there are no more.
func fetchAll(ctx context.Context, group *conn.Group, urls []*url.URL) error {
	var pages sched.JoinSet[page]
	defer pages.Close() // aborts the tasks that are left
	free, seen, failed := syncx.NewSemaphore(*conns), map[string]bool{}, 0
	for {
		for _, u := range urls {
			if key := u.String(); !seen[key] && len(seen) < *most {
				seen[key] = true
				pages.Go(group.Runtime(), func(cx *sched.Context) (page, error) { return fetch(cx, group, free, u) })
			}
		}
		p, err := sched.Block(ctx, group.Runtime(), pages.JoinNext())
		switch {
		case ctx.Err() != nil:
			return errors.New("interrupted")
		case err == sched.ErrEmpty && failed > 0:
			return fmt.Errorf("%d pages failed", failed)
		case err == sched.ErrEmpty:
			return nil
		case err != nil:
			failed++
			fmt.Printf("failed %s: %v\n", p.url, err)
		default:
			fmt.Printf("%d %s %d bytes\n", p.status, p.url, p.size)
		}
		urls = p.links
	}
}

// fetch gets a page on a connection of its own, for which it waits.
func fetch(cx *sched.Context, group *conn.Group, free *syncx.Semaphore, u *url.URL) (page, error) {
	if err := free.Acquire(cx, 1); err != nil {
		return page{url: u}, err
	}
	defer free.Release(1)
	dialer, port := server.Dialer{Group: func() *conn.Group { return group }}, cmp.Or(u.Port(), "80")
	if u.Scheme == "https" {
		dialer.TLS, port = &tls.Config{}, cmp.Or(u.Port(), "443")
	}
	deadline := cx.Now() + *timeout // of the dial, and of all reads and writes
	s, err := sched.Await(cx, sched.TimeoutAt(deadline, dialer.DialStreamFuture("tcp", net.JoinHostPort(u.Hostname(), port))))
	if err != nil {
		return page{url: u}, err
	}
	defer func() { _ = s.Close() }()
	_ = s.SetDeadline(cx.Runtime().Time(deadline))
	return get(s, u)
}

// get is one exchange of HTTP/1.1. It is plain code over a net.Conn: net/http writes and parses.
func get(s net.Conn, u *url.URL) (page, error) {
	p, in, resp := page{url: u}, bufio.NewReader(io.LimitReader(s, maxPage)), &http.Response{StatusCode: 100}
	req := &http.Request{Method: "GET", URL: u, Host: u.Host, Close: true, Header: http.Header{"User-Agent": {"suiro-crawler"}}}
	err := req.Write(s)
	for err == nil && resp.StatusCode/100 == 1 { // hints come before the answer
		resp, err = http.ReadResponse(in, req)
	}
	if err != nil {
		return p, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return p, fmt.Errorf("after %d bytes: %w", len(body), err)
	}
	p.status, p.size = resp.StatusCode, len(body)
	var links []string
	if resp.StatusCode/100 == 3 {
		links = append(links, resp.Header.Get("Location"))
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/html" {
		for _, m := range link.FindAllSubmatch(body, -1) {
			links = append(links, html.UnescapeString(string(m[1])))
		}
	}
	for _, l := range links {
		if to, err := u.Parse(l); err == nil && *follow && to.Scheme == u.Scheme && to.Host == u.Host {
			to.Fragment = ""
			p.links = append(p.links, to)
		}
	}
	return p, nil
}
