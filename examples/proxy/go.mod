module github.com/suiro-go/suiro/examples/proxy

go 1.26

require (
	github.com/BurntSushi/toml v1.4.0
	github.com/stretchr/testify v1.11.1
	github.com/suiro-go/suiro v0.0.0
	golang.org/x/sys v0.45.0
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	golang.org/x/net v0.55.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/suiro-go/suiro => ../..
