package console

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// guard refuses requests that do not come from the page or its user.
func (c *console) guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		switch {
		case !c.isOurHost(r.Host):
			http.Error(w, "this host name is not one of Config.Hosts", http.StatusForbidden)
		case !isSameSite(r):
			http.Error(w, "the request comes from another site", http.StatusForbidden)
		case r.Method != http.MethodGet && r.Method != http.MethodHead && !isFromPage(r):
			http.Error(w, "the request does not come from the page", http.StatusForbidden)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// isOurHost reports whether a Host header names this host. A name that is not known may be
// another site's, which resolves it to our address.
func (c *console) isOurHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(name, ".")
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	same := func(n string) bool { return strings.EqualFold(n, name) }
	return same("localhost") || slices.ContainsFunc(c.cfg.Hosts, same)
}

// isSameSite reports false if a browser says that another site makes the request. A person may
// follow a link to the page itself.
func isSameSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// isFromPage reports whether a request that changes something comes from the page's script. Another
// site cannot set the header without asking first (CORS), which is never allowed.
func isFromPage(r *http.Request) bool {
	if r.Header.Get("Suiro-Console") != "1" {
		return false
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true // no browser, which has set the header by hand
	}
	if len(origins) > 1 {
		return false
	}
	u, err := url.Parse(origins[0])
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}
