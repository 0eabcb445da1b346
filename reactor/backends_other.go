//go:build !unix

package reactor

// None yet: Open says so with an UnknownBackendError.
var backends []backend
