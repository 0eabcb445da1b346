//go:build long

package conn_test

import "testing"

func TestAThousandHandshakesAtOnceOfEitherVersion(t *testing.T) { handshakes(t, 1000) }

func TestAHundredMegabytesGoEachWayThroughTLS(t *testing.T) { transfers(t, 100<<20) }
