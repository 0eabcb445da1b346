//go:build amd64 || arm64 || 386 || arm || riscv64

package goid

// Get identifies the calling goroutine among those that have not ended. It is the address of the
// runtime's descriptor of the goroutine, which every Go program has in a register or in its
// thread's storage. The runtime never frees a descriptor, but uses it again for a later goroutine.
//
//go:noescape
func Get() uintptr
