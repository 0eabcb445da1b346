package sock

// A Kind is what was found out about a socket when it was attached.
type Kind struct {
	Wide       bool // it is an IPv6 one
	NoSegments bool // the kernel has no UDP_SEGMENT
}
