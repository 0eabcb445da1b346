//go:build !(amd64 || arm64 || 386 || arm || riscv64)

package goid

// Get identifies the calling goroutine. It is Number, which is slow.
func Get() uintptr { return uintptr(Number()) }
