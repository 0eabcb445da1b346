package patience

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTheEnvironmentScalesTheLimit(t *testing.T) {
	plain := scaled("")
	assert.GreaterOrEqual(t, plain, 30*time.Second)
	assert.Equal(t, 2*plain, scaled("2"))
	assert.Equal(t, plain/2, scaled("0.5"))
	for _, wrong := range []string{"0", "-1", "soon"} {
		assert.Equal(t, plain, scaled(wrong))
	}
}
