//go:build !linux

// Proxyload runs on Linux only.
package main

func main() { panic("proxyload runs on Linux only") }
