package gateway

import (
	"bytes"
	"slices"
	"strings"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
)

// own are the fields of a request that the gateway writes.
var own = []string{
	"host", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "forwarded", "via",
}

// spoofed are fields by which other proxies tell an upstream about a client. A client that
// writes one itself would be believed, so they are dropped. "proxy" is there because CGI makes
// HTTP_PROXY of it. Every other X-Forwarded- field is dropped as well.
var spoofed = []string{
	"x-real-ip", "true-client-ip", "x-client-ip", "x-cluster-client-ip", "cf-connecting-ip", "proxy",
}

// A filter says which fields of a client do not go on to an upstream. nil drops nothing.
type filter struct {
	pass        []string // in lower case
	underscores bool
}

func newFilter(r *config.Route) *filter {
	f := &filter{underscores: r.Underscores}
	for _, name := range r.PassHeaders {
		f.pass = append(f.pass, strings.ToLower(name))
	}
	return f
}

// drops reports whether a field is dropped. Many upstreams take underscores in names for
// hyphens, as CGI does, and so take X_Real_IP for X-Real-IP: where underscores are allowed
// at all, a name is dropped if it would be with hyphens.
func (f *filter) drops(name []byte) bool {
	if f == nil {
		return false
	}
	if bytes.IndexByte(name, '_') >= 0 {
		if !f.underscores {
			return true
		}
		if name = bytes.ReplaceAll(name, []byte("_"), []byte("-")); among(name, hop) {
			return true
		}
	}
	if among(name, own) {
		return true
	}
	const prefix = "x-forwarded-"
	if !among(name, spoofed) && (len(name) < len(prefix) || !is(name[:len(prefix)], prefix)) {
		return false
	}
	return !slices.ContainsFunc(f.pass, func(p string) bool { return is(name, p) })
}
