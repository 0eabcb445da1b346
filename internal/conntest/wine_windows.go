package conntest

import "golang.org/x/sys/windows"

// Wine reports whether this is not Windows itself. Of Wine 8 tests ask less:
//
//   - an error that comes while no receive is in flight is forgotten: a reset then looks
//     like the end of the stream, and a refused datagram like nothing;
//   - a socket that is closed while a receive is in flight tells its peer so a little
//     after the call has returned;
//   - a write that waits now and then ends with nothing written and no error, which package
//     net calls an unexpected EOF; the same bytes written again arrive once;
//   - a datagram socket that is bound to one loopback address and connected has another.
func Wine() bool { return wineVersion.Find() == nil }

var wineVersion = windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version")
