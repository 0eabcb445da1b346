package gateway

import (
	"bytes"
	"strings"

	"github.com/suiro-go/suiro/examples/http/h1"
)

// appendTrailer appends the end of a body in chunks, with those fields after it that go on.
func appendTrailer(dst, lines []byte, f *filter, names []string) []byte {
	dst = append(dst, "0\r\n"...)
	for line := range bytes.Lines(lines) {
		if name, _, _ := bytes.Cut(line, []byte(":")); trails(name, f, names) {
			dst = append(dst, line...)
		}
	}
	return append(dst, "\r\n"...)
}

// trails reports whether a field after a body goes on.
func trails(name []byte, f *filter, names []string) bool {
	return h1.MayTrail(name) && !among(name, hop) && !among(name, names) && !f.drops(name)
}

// announced appends the Trailer field, with those names that can be after the body then.
func announced(dst []byte, h fields, f *filter, names []string) []byte {
	var list []string
	for name := range strings.SplitSeq(all(h, "trailer"), ",") {
		if name = strings.Trim(name, " \t"); trails([]byte(name), f, names) {
			list = append(list, name)
		}
	}
	if list == nil {
		return dst
	}
	return h1.AppendField(dst, "Trailer", strings.Join(list, ", "))
}
