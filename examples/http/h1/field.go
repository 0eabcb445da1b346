package h1

// parseField takes the field line at b[at:] apart. end is the start of the next line, or 0 if the
// line is incomplete; an error may also mean that it is. A lax line may end in a bare LF.
func parseField(b []byte, at int, lax bool) (f field, end int, err *Error) {
	i := span(b, at, tokenByte)
	if i == len(b) {
		return f, 0, nil
	}
	if i == at || b[i] != ':' {
		return f, 0, nameError(b, at)
	}
	f.name, f.nameEnd = uint32(at), uint32(i)
	i++
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	start := i
	i = valueEnd(b, i)
	if i == len(b) {
		return f, 0, nil
	}
	switch {
	case b[i] == '\n' && lax:
		end = i + 1
	case b[i] == '\n':
		return f, 0, errBareLF
	case b[i] != '\r':
		return f, 0, errValue
	case i+1 == len(b):
		return f, 0, nil
	case b[i+1] != '\n':
		return f, 0, errBareCR
	default:
		end = i + 2
	}
	for i > start && (b[i-1] == ' ' || b[i-1] == '\t') {
		i--
	}
	f.value, f.valueEnd = uint32(start), uint32(i)
	return f, end, nil
}

// nameError says why the line at b[at:] does not start with a name and a colon.
func nameError(b []byte, at int) *Error {
	switch b[at] {
	case ' ', '\t':
		return errFold
	case '\r':
		return errBareCR // or the block's end, still without its LF
	case '\n':
		return errBareLF
	}
	return errName
}

// field parses a header line and takes note of what governs the message.
func (r *Request) field(b []byte, at int, lax bool) (int, *Error) {
	f, end, err := parseField(b, at, lax)
	if err != nil || end == 0 {
		return 0, err
	}
	r.add(f)
	name := b[f.name:f.nameEnd]
	switch len(name) {
	case len("host"):
		if equalFold(name, "host") {
			r.framing.hosts++
			r.framing.host = f
		}
	case len("expect"):
		if equalFold(name, "expect") {
			r.framing.expect(b[f.value:f.valueEnd])
		}
	case len("connection"):
		if equalFold(name, "connection") {
			r.framing.connection(b[f.value:f.valueEnd])
		}
	case len("content-length"):
		if equalFold(name, "content-length") {
			r.framing.lengths++
			r.framing.length = f
		}
	case len("transfer-encoding"):
		if equalFold(name, "transfer-encoding") {
			r.framing.coding(b[f.value:f.valueEnd])
		}
	}
	return end, nil
}
