module github.com/suiro-go/suiro/bench/peers

go 1.26

require (
	github.com/cloudwego/netpoll v0.7.2
	github.com/lesismal/nbio v1.6.7
	github.com/panjf2000/gnet/v2 v2.9.8
	github.com/tidwall/evio v1.0.8
	github.com/valyala/fasthttp v1.68.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.1.2 // indirect
	github.com/andybalholm/brotli v1.2.0 // indirect
	github.com/bytedance/gopkg v0.1.1 // indirect
	github.com/cloudwego/gopkg v0.1.4 // indirect
	github.com/kavu/go_reuseport v1.5.0 // indirect
	github.com/klauspost/compress v1.18.1 // indirect
	github.com/panjf2000/ants/v2 v2.12.1 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	go.uber.org/zap v1.28.0 // indirect
	golang.org/x/net v0.55.0 // indirect
	golang.org/x/sync v0.11.0 // indirect
	gopkg.in/natefinch/lumberjack.v2 v2.2.1 // indirect
)

require (
	github.com/suiro-go/suiro v0.0.0
	github.com/suiro-go/suiro/bench/load v0.0.0
	golang.org/x/sys v0.45.0
)

replace github.com/suiro-go/suiro => ../..

replace github.com/suiro-go/suiro/bench/load => ../load
