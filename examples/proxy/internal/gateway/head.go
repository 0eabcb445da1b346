package gateway

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/suiro-go/suiro/examples/http/h1"
)

// hop are the fields that concern one connection only (RFC 9110, 7.6.1), and those that are written
// anew.
var hop = []string{
	"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
	"proxy-authorization", "proxy-authenticate", "content-length", "http2-settings",
}

// A fields is a head's.
type fields interface {
	NumHeaders() int
	HeaderAt(int) (name, value []byte)
}

// listed are what the Connection fields of a head name, in lower case.
func listed(h fields) (names []string) {
	for i := range h.NumHeaders() {
		if name, value := h.HeaderAt(i); is(name, "connection") {
			for e := range strings.SplitSeq(string(value), ",") {
				names = append(names, strings.ToLower(strings.TrimSpace(e)))
			}
		}
	}
	return names
}

func is(name []byte, lower string) bool {
	return len(name) == len(lower) && bytes.EqualFold(name, []byte(lower))
}

func among(name []byte, all []string) bool {
	for _, n := range all {
		if is(name, n) {
			return true
		}
	}
	return false
}

// appendFields appends the fields that go from end to end: neither those of one connection, nor
// those that its Connection has listed as names, nor those that the filter drops.
func appendFields(dst []byte, h fields, f *filter, names []string) []byte {
	for i := range h.NumHeaders() {
		if name, value := h.HeaderAt(i); !among(name, hop) && !among(name, names) && !f.drops(name) {
			dst = append(append(append(append(dst, name...), ": "...), value...), "\r\n"...)
		}
	}
	return dst
}

// all is the values of a field, joined as a list.
func all(h fields, lower string) string {
	var list []string
	for i := range h.NumHeaders() {
		if name, value := h.HeaderAt(i); is(name, lower) {
			list = append(list, string(value))
		}
	}
	return strings.Join(list, ", ")
}

// appendRequest appends the head of a request for the upstream. The target is in origin form, there
// is one Host, and hop-by-hop fields are gone. The client is added to X-Forwarded-For and Forwarded
// (RFC 7239), and the body is framed by us. A client's X-Forwarded-Proto and -Host are dropped, and
// so are the fields of the filter.
func appendRequest(dst []byte, r *h1.Request, f *filter, names []string, remote net.Addr, covered bool, upgrade string) []byte {
	dst = append(append(dst, r.Method...), ' ')
	switch {
	case r.Target[0] == '/' || r.Target[0] == '*':
		dst = append(dst, r.Target...)
	case asksServer(r):
		dst = append(dst, '*')
	default:
		dst = append(dst, r.Path...)
		if r.Query != nil {
			dst = append(append(dst, '?'), r.Query...)
		}
	}
	dst = append(append(append(dst, " HTTP/1.1\r\nHost: "...), r.Host...), "\r\n"...)
	dst = appendFields(dst, r, f, names)
	ip, proto := "", "http"
	if t, ok := remote.(*net.TCPAddr); ok {
		ip = t.AddrPort().Addr().Unmap().WithZone("").String()
	}
	if covered {
		proto = "https"
	}
	node := "unknown"
	if ip != "" {
		dst = appendList(dst, "X-Forwarded-For", all(r, "x-forwarded-for"), ip)
		node = ip
		if strings.Contains(ip, ":") {
			node = `"[` + ip + `]"`
		}
	}
	dst = h1.AppendField(dst, "X-Forwarded-Proto", proto)
	if len(r.Host) > 0 {
		dst = h1.AppendField(dst, "X-Forwarded-Host", string(r.Host))
		node += fmt.Sprintf(";host=%q", r.Host)
	}
	dst = appendList(dst, "Forwarded", wellFormed(all(r, "forwarded"), isForwarded), "for="+node+";proto="+proto)
	dst = appendList(dst, "Via", wellFormed(all(r, "via"), isVia), fmt.Sprintf("1.%d suiro", r.Minor))
	switch {
	case r.Chunked:
		dst = announced(append(dst, "Transfer-Encoding: chunked\r\n"...), r, f, names)
	case r.ContentLength >= 0:
		dst = fmt.Appendf(dst, "Content-Length: %d\r\n", r.ContentLength)
	}
	if takesTrailers(r) {
		dst = append(dst, "TE: trailers\r\nConnection: TE\r\n"...)
	}
	if upgrade != "" {
		dst = h1.AppendField(append(dst, "Connection: upgrade\r\n"...), "Upgrade", upgrade)
	}
	return append(dst, "\r\n"...)
}

// asksServer reports whether an absolute target means the server as a whole, "*" in the other form
// (RFC 9112, 3.2.4): it then has no path at all.
func asksServer(r *h1.Request) bool {
	return string(r.Method) == "OPTIONS" && len(r.Path) == 1 && r.Query == nil && r.Target[len(r.Target)-1] != '/'
}

// takesTrailers reports whether the client wants such fields (RFC 9110, 10.1.4).
func takesTrailers(r *h1.Request) bool {
	for e := range strings.SplitSeq(all(r, "te"), ",") {
		if name, _, _ := strings.Cut(e, ";"); strings.EqualFold(strings.TrimSpace(name), "trailers") {
			return r.Minor > 0
		}
	}
	return false
}

func appendList(dst []byte, name, before, last string) []byte {
	if before != "" {
		last = before + ", " + last
	}
	return h1.AppendField(dst, name, last)
}

// A framing is how the body of an answer is written.
type framing uint8

const (
	plain   framing = iota // as it is: its length is known, or it ends with the connection
	chunked                // in chunks
)

// appendReply appends the head of an answer as the client is to see it; names are those that its
// Connection has listed, and connection what ours says: "" for nothing.
func appendReply(dst []byte, r *h1.Reply, names []string, f framing, connection string) []byte {
	dst = fmt.Appendf(dst, "HTTP/1.1 %03d %s\r\n", r.Status, r.Reason)
	dst = appendFields(dst, r, nil, names)
	if r.Status >= 200 && r.Header("date") == nil { // RFC 9110, 6.6.1
		dst = append(append(append(dst, "Date: "...), date()...), "\r\n"...)
	}
	switch {
	case f == chunked:
		dst = announced(append(dst, "Transfer-Encoding: chunked\r\n"...), r, nil, names)
	case r.ContentLength >= 0:
		dst = fmt.Appendf(dst, "Content-Length: %d\r\n", r.ContentLength)
	}
	switch {
	case r.Status == 101:
		dst = h1.AppendField(append(dst, "Connection: upgrade\r\n"...), "Upgrade", all(r, "upgrade"))
	case connection != "":
		dst = h1.AppendField(dst, "Connection", connection)
	}
	return append(dst, "\r\n"...)
}

// date is the present time, for the Date field.
func date() []byte { return new(h1.DateCache).At(time.Now().Unix()) }
