package conntest

import "golang.org/x/sys/windows"

// ForgetsErrors reports whether what comes while no receive is in flight may be forgotten:
// Wine 8 then has a reset look like the end of the stream, and a refused datagram like
// nothing.
func ForgetsErrors() bool { return wineVersion.Find() == nil }

var wineVersion = windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version")
