package reactor
import "syscall"
func Errno(e syscall.Errno) syscall.Errno { return e }
