package conn_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
)

// The table of defaults says what the code does.
func TestTheTableOfDefaultsIsTrue(t *testing.T) {
	page, err := os.ReadFile("../docs/defaults.md")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the test runs without the source")
	}
	require.NoError(t, err)
	cfg := conn.Defaults()
	for name, value := range map[string]any{
		"HighWater": size(cfg.HighWater), "LowWater": size(cfg.LowWater), "MaxWrite": size(cfg.MaxWrite),
		"MaxWriteTotal": size(cfg.MaxWriteTotal), "MaxRead": size(cfg.MaxRead), "MaxMemory": size(cfg.MaxMemory),
		"MaxConns": size(cfg.MaxConns), "MaxPerSource": size(cfg.MaxPerSource), "MaxPipes": cfg.MaxPipes,
		"IdleTimeout": duration(cfg.IdleTimeout), "LingerTimeout": duration(cfg.LingerTimeout),
	} {
		row := regexp.MustCompile("(?m)^\\| `conn.Config." + name + "` \\| (.*?) \\|").FindSubmatch(page)
		require.NotNil(t, row, "%s has no row", name)
		require.Equal(t, fmt.Sprint(value), string(row[1]), name)
	}
}

func size(n int) string {
	switch {
	case n == 0:
		return "none"
	case n >= 1<<20:
		return fmt.Sprint(n>>20, " MiB")
	}
	return fmt.Sprint(n>>10, " KiB")
}

func duration(d time.Duration) string {
	if d == 0 {
		return "none"
	}
	return fmt.Sprint(int(d.Seconds()), " s")
}
