//go:build long

package conntest

// Thorough says that tests go through all combinations and long loops: the build has the tag long.
const Thorough = true
