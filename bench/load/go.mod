module github.com/suiro-go/suiro/bench/load

go 1.26

require (
	github.com/HdrHistogram/hdrhistogram-go v1.1.2
	github.com/stretchr/testify v1.11.1
	golang.org/x/sys v0.45.0
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
