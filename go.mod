module github.com/suiro-go/suiro

go 1.26

require (
	github.com/pawelgaczynski/giouring v0.0.0-20230826085535-69588b89acb9
	github.com/rs/zerolog v1.35.1
	github.com/stretchr/testify v1.11.1
	golang.org/x/net v0.55.0
	golang.org/x/sys v0.45.0
)
