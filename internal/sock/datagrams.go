package sock

// A Kind is the properties of a socket, found when it was attached.
type Kind struct {
	Wide       bool // it is an IPv6 one
	NoSegments bool // the kernel has no UDP_SEGMENT
}
