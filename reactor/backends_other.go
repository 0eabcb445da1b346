//go:build !unix && !windows

package reactor

// None yet: Open says so with an UnknownBackendError.
var backends []backend
