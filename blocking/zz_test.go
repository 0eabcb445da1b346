package blocking_test

import (
	"context"
	"fmt"
	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/sched"
	"sort"
	"testing"
	"time"
)

func TestZZ(t *testing.T) {
	pr := func(n string, ds []time.Duration) {
		sort.Slice(ds, func(i, j int) bool { return ds[i] < ds[j] })
		fmt.Println(n, "p10", ds[len(ds)/10], "p50", ds[len(ds)/2], "p90", ds[len(ds)*9/10], "p99", ds[len(ds)*99/100])
	}
	for r := 0; r < 3; r++ {
		var ds []time.Duration
		for i := 0; i < 20000; i++ {
			b := time.Now()
			ch := make(chan int, 1)
			go func() { v, _ := call(); ch <- v }()
			<-ch
			ds = append(ds, time.Since(b))
		}
		pr("go", ds)
		var p blocking.Pool
		rt := sched.New(sched.Config{Workers: 1})
		ds = nil
		sched.Go(rt, func(cx *sched.Context) (int, error) {
			for i := 0; i < 20000; i++ {
				b := time.Now()
				blocking.Do(cx, &p, call)
				ds = append(ds, time.Since(b))
			}
			return 0, nil
		}).Wait(context.Background())
		pr("do", ds)
		rt.Close()
		p.Shutdown(context.Background())
	}
}
