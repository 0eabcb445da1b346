//go:build unix && !dragonfly

package sock

const keepAliveSecond = 1 // these options count seconds
