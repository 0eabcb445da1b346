package uring

import "unsafe"

// CQE is struct io_uring_cqe: one completion. Res is the result, or an errno negated.
type CQE struct {
	UserData uint64
	Res      int32
	Flags    uint32 // IORING_CQE_F_*
}

var _ [16]byte = [unsafe.Sizeof(CQE{})]byte{}

// More reports that the request stays armed and will complete again. A multishot whose completion
// does not say so has ended, whatever its result.
func (c *CQE) More() bool { return c.Flags&IORING_CQE_F_MORE != 0 }

// HasBuffer reports that the completion used a buffer of a group.
func (c *CQE) HasBuffer() bool { return c.Flags&IORING_CQE_F_BUFFER != 0 }

// BufferID is the buffer's id within its group; it means something only if HasBuffer.
func (c *CQE) BufferID() uint16 { return uint16(c.Flags >> IORING_CQE_BUFFER_SHIFT) }

// BufMore reports that the kernel goes on filling this buffer behind the bytes of this completion,
// so that it must not be added again yet. Only rings with IOU_PBUF_RING_INC say so.
func (c *CQE) BufMore() bool { return c.Flags&IORING_CQE_F_BUF_MORE != 0 }
