package h1

import "bytes"

func isConnect(method []byte) bool { return string(method) == "CONNECT" }

// origin parses the path at b[from:] and a query. It returns the first byte
// that belongs to neither.
func (r *Request) origin(b []byte, from int) (int, *Error) {
	i := span(b, from, pathByte)
	for escaped(b, i) {
		i = span(b, i+3, pathByte)
	}
	r.Path, r.Query = b[from:i:i], nil
	if i == len(b) || b[i] == ' ' {
		return i, nil
	}
	if b[i] != '?' {
		return i, errTarget
	}
	from = i + 1
	i = span(b, from, queryByte)
	r.Query = b[from:i:i]
	return i, nil
}

// otherForm parses a Target that is not in origin form.
func (r *Request) otherForm() *Error {
	t := r.Target
	r.Path, r.Query, r.Host = nil, nil, nil
	switch {
	case len(t) == 0:
		return errTarget
	case isConnect(r.Method):
		port, ok := authority(t)
		if !ok || port == 0 || port == len(t) || port == 1 {
			return errTargetForm
		}
		r.Host = t
		return nil
	case len(t) == 1 && t[0] == '*':
		if string(r.Method) != "OPTIONS" {
			return errTargetForm
		}
		r.Path = t
		return nil
	}
	return r.absolute(t)
}

// absolute parses http://authority/path?query. Anything else that could stand here, such as another
// scheme, is not for an HTTP origin server.
func (r *Request) absolute(t []byte) *Error {
	colon := bytes.IndexByte(t, ':')
	if colon < 0 || !equalFold(t[:colon], "http") && !equalFold(t[:colon], "https") {
		return errTarget
	}
	rest := t[colon+1:]
	if len(rest) < 2 || rest[0] != '/' || rest[1] != '/' {
		return errTarget
	}
	slash := rest[1:2:2]
	rest = rest[2:]
	end := bytes.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	host := rest[:end:end]
	if port, ok := authority(host); !ok || len(host) == 0 || port == 1 {
		return errTarget
	}
	i, err := r.origin(rest, end)
	if err != nil || i < len(rest) {
		return errTarget
	}
	if len(r.Path) == 0 {
		r.Path = slash // a missing path means "/": here is one
	}
	r.Host = host
	return nil
}
