//go:build unix && !linux

package sock

const fionread = 0x4004667f // sys/filio.h
