package conn

import (
	"math/bits"
	"strconv"
	"strings"
)

// flagNames are the names of all flags, for reports.
var flagNames = [...]struct {
	flag flags
	name string
}{
	{opened, "opened"},
	{receiving, "receiving"},
	{stopping, "stopping"},
	{dialled, "dialled"},
	{connecting, "connecting"},
	{paused, "paused"},
	{starved, "starved"},
	{held, "held"},
	{unseen, "unseen"},
	{deaf, "deaf"},
	{ended, "ended"},
	{endSeen, "endSeen"},
	{mute, "mute"},
	{overdue, "overdue"},
	{closing, "closing"},
	{finished, "finished"},
	{broken, "broken"},
	{reset, "reset"},
	{consumed, "consumed"},
	{backed, "backed"},
	{much, "much"},
	{ample, "ample"},
	{direct, "direct"},
	{polling, "polling"},
	{awaiting, "awaiting"},
	{prompt, "prompt"},
	{outbound, "outbound"},
	{drained, "drained"},
}

// String is the names of the flags that are set, as in opened|paused. One that has no name
// is the number of its bit.
func (f flags) String() string {
	var names []string
	for _, n := range flagNames {
		if f&n.flag != 0 {
			names = append(names, n.name)
			f &^= n.flag
		}
	}
	for ; f != 0; f &= f - 1 {
		names = append(names, "bit "+strconv.Itoa(bits.TrailingZeros32(uint32(f))))
	}
	return strings.Join(names, "|")
}
