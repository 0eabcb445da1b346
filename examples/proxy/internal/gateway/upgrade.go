package gateway

import (
	"slices"
	"strings"

	"github.com/suiro-go/suiro/examples/http/h1"
)

// upgradeOf is the protocols that a client would like to speak; "" if no others. HTTP itself and
// TLS are not passed on: in a tunnel with h2c, or with HTTP within TLS, a client could ask the
// upstream for whatever it likes, and the gateway would see no request.
func upgradeOf(r *h1.Request) string {
	if r.Minor == 0 || r.HasBody() || !slices.Contains(listed(r), "upgrade") {
		return ""
	}
	var list []string
	for p := range protocols(all(r, "upgrade")) {
		name, _, _ := strings.Cut(strings.ToLower(p), "/")
		switch name {
		case "", "h2c", "h2", "http", "tls":
		default:
			list = append(list, p)
		}
	}
	return strings.Join(list, ", ")
}

// switches reports whether an upstream that changes the protocol changes to asked ones alone.
func switches(r *h1.Reply, asked string) bool {
	offered := slices.Collect(protocols(asked))
	some := false
	for p := range protocols(all(r, "upgrade")) {
		some = true
		if !slices.ContainsFunc(offered, func(o string) bool { return strings.EqualFold(o, p) }) {
			return false
		}
	}
	return some
}

// protocols are those that an Upgrade field lists.
func protocols(list string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for p := range strings.SplitSeq(list, ",") {
			if p = strings.Trim(p, " \t"); p != "" && !yield(p) {
				return
			}
		}
	}
}
