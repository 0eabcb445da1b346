package conn_test

import "golang.org/x/sys/windows"

func sendRaw(fd uintptr, p []byte) (n int, err error) {
	var sent uint32
	err = windows.WSASend(windows.Handle(fd), &windows.WSABuf{Len: uint32(len(p)), Buf: &p[0]}, 1, &sent, 0, nil, nil)
	return int(sent), err
}
