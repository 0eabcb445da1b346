package status

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// A Guard decides which requests see the pages. Its zero value asks for no token.
type Guard struct {
	// Token, unless it is "", must be sent as a bearer token, or as the password of Basic
	// authentication with any user name, which browsers ask for.
	Token string

	// Hosts are further names by which the pages may be asked for. IP addresses and localhost
	// always may.
	Hosts []string
}

// Cover is h for requests that the guard lets pass.
//
// A page of a stranger cannot read the status through a victim's browser: a name of its own that
// it has resolve to this address (DNS rebinding) is refused, since the Host field tells it.
func (g Guard) Cover(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := w.Header()
		f.Set("X-Content-Type-Options", "nosniff")
		f.Set("X-Frame-Options", "DENY")
		f.Set("Referrer-Policy", "no-referrer")
		f.Set("Cache-Control", "no-store")
		f.Set("Content-Security-Policy", "default-src 'none'; "+
			"frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		switch {
		case !g.knows(r.Host):
			http.Error(w, "this name is not one of the console's: add it to admin_hosts", http.StatusMisdirectedRequest)
		case !g.believes(r):
			f.Set("WWW-Authenticate", `Basic realm="suiro proxy", charset="UTF-8"`)
			http.Error(w, "the console needs its admin_token", http.StatusUnauthorized)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// knows reports whether a request may name this host. HTTP/1.0 names none, which browsers
// never do: the check is against pages of others in a browser.
func (g Guard) knows(host string) bool {
	if host == "" {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return host == "localhost" || slices.ContainsFunc(g.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// believes reports whether the request has the token, in a time that does not depend on how much
// of it is right.
func (g Guard) believes(r *http.Request) bool {
	if g.Token == "" {
		return true
	}
	_, token, basic := r.BasicAuth()
	if !basic {
		scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return false
		}
		token = strings.TrimSpace(rest)
	}
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(g.Token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}
