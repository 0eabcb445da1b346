package reactor

import (
	"net/netip"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"pgregory.net/rapid"
)

// Parsing stays within the bounds of the buffer for any content.
func FuzzParsePacket(f *testing.F) {
	f.Add(make([]byte, packetPayload))
	full := make([]byte, packetPayload+4)
	setPacketHeader(full, nameRoom, controlRoom, 4, msgTrunc)
	full[packetName] = syscall.AF_INET6
	full[packetControl] = 40
	f.Add(full)
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) < packetPayload {
			t.Skip("no kernel does that")
		}
		require.Equal(t, p[packetPayload:], parsePacket(p).Payload)
	})
}

// However datagrams are added, joined or as segments, the same go to the same
// addresses in the same order.
func TestABatchKeepsItsDatagrams(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type sent struct {
			p  string
			to netip.AddrPort
		}
		b := &Batch{Join: rapid.Bool().Draw(t, "join"), NoSegments: rapid.Bool().Draw(t, "no segments")}
		var want []sent
		for range rapid.IntRange(0, 60).Draw(t, "calls") {
			to := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), rapid.Uint16Range(1, 2).Draw(t, "port"))
			p := make([]byte, rapid.SampledFrom([]int{0, 1, 2, 100, 100, 100, 99, 1232, 1233}).Draw(t, "size"))
			for i := range p {
				p[i] = byte(len(want))
			}
			if segment := rapid.IntRange(0, 50).Draw(t, "segment"); segment > 40 {
				require.NoError(t, b.AddSegments(p, segment, to))
				for c := range slices.Chunk(p, segment) {
					want = append(want, sent{string(c), to})
				}
				continue
			}
			require.NoError(t, b.Add(p, to))
			want = append(want, sent{string(p), to})
		}
		var got []sent
		size := 0
		for i := range b.Len() {
			p, segment := b.Payload(i), b.Segment(i)
			size += len(p)
			if segment == 0 {
				got = append(got, sent{string(p), b.To(i)})
				continue
			}
			require.False(t, b.NoSegments)
			require.LessOrEqual(t, len(p), maxPayload4)
			require.LessOrEqual(t, len(p), maxSegments*segment)
			require.Greater(t, len(p), segment, "one is no segments")
			for c := range slices.Chunk(p, segment) {
				got = append(got, sent{string(c), b.To(i)})
			}
		}
		require.Equal(t, want, got)
		require.Equal(t, size, b.Size())
	})
}
