//go:build unix && !dragonfly

package sockopt

const keepAliveSecond = 1 // these options count seconds
