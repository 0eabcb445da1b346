package uring

// The names are those of <linux/io_uring.h>, so that they can be looked up in the kernel's sources
// and manual pages. A version says which kernel first knows the value; without one it is 5.1 or
// older than anything this package could run on.

// Setup flags, for Params.Flags.
const (
	IORING_SETUP_IOPOLL             = 1 << 0
	IORING_SETUP_SQPOLL             = 1 << 1
	IORING_SETUP_SQ_AFF             = 1 << 2
	IORING_SETUP_CQSIZE             = 1 << 3  // 5.5; New sets it when Params.CQEntries is not zero
	IORING_SETUP_CLAMP              = 1 << 4  // 5.6; sizes too large are cut to the limit, not refused
	IORING_SETUP_ATTACH_WQ          = 1 << 5  // 5.6
	IORING_SETUP_R_DISABLED         = 1 << 6  // 5.10
	IORING_SETUP_SUBMIT_ALL         = 1 << 7  // 5.18; a bad entry does not end the batch
	IORING_SETUP_COOP_TASKRUN       = 1 << 8  // 5.19; no interrupt to run completion work
	IORING_SETUP_TASKRUN_FLAG       = 1 << 9  // 5.19; IORING_SQ_TASKRUN tells of waiting work
	IORING_SETUP_SQE128             = 1 << 10 // 5.19
	IORING_SETUP_CQE32              = 1 << 11 // 5.19
	IORING_SETUP_SINGLE_ISSUER      = 1 << 12 // 6.0; another thread's Enter fails with EEXIST
	IORING_SETUP_DEFER_TASKRUN      = 1 << 13 // 6.1; needs SINGLE_ISSUER; work runs only in a waiting Enter
	IORING_SETUP_NO_MMAP            = 1 << 14 // 6.5
	IORING_SETUP_REGISTERED_FD_ONLY = 1 << 15 // 6.5
	IORING_SETUP_NO_SQARRAY         = 1 << 16 // 6.6; entries are taken in order, without an index array
)

// Features, from Ring.Features.
const (
	IORING_FEAT_SINGLE_MMAP     = 1 << 0  // 5.4
	IORING_FEAT_NODROP          = 1 << 1  // 5.5; completions beyond the queue are kept, not dropped
	IORING_FEAT_SUBMIT_STABLE   = 1 << 2  // 5.5; iovecs and msghdrs are copied when submitted
	IORING_FEAT_RW_CUR_POS      = 1 << 3  // 5.6
	IORING_FEAT_CUR_PERSONALITY = 1 << 4  // 5.6
	IORING_FEAT_FAST_POLL       = 1 << 5  // 5.7; sockets wait by poll, not on a kernel thread
	IORING_FEAT_POLL_32BITS     = 1 << 6  // 5.9
	IORING_FEAT_SQPOLL_NONFIXED = 1 << 7  // 5.11
	IORING_FEAT_EXT_ARG         = 1 << 8  // 5.11; Enter can take a timeout
	IORING_FEAT_NATIVE_WORKERS  = 1 << 9  // 5.12
	IORING_FEAT_RSRC_TAGS       = 1 << 10 // 5.13
	IORING_FEAT_CQE_SKIP        = 1 << 11 // 5.17
	IORING_FEAT_LINKED_FILE     = 1 << 12 // 5.17
	IORING_FEAT_REG_REG_RING    = 1 << 13 // 6.3
	IORING_FEAT_RECVSEND_BUNDLE = 1 << 14 // 6.10
	IORING_FEAT_MIN_TIMEOUT     = 1 << 15 // 6.12
	IORING_FEAT_RW_ATTR         = 1 << 16 // 6.14
	IORING_FEAT_NO_IOWAIT       = 1 << 17 // 6.15
)

// Operations, for Probe.Supports and SQE.Opcode.
const (
	IORING_OP_NOP              = 0
	IORING_OP_POLL_ADD         = 6
	IORING_OP_POLL_REMOVE      = 7
	IORING_OP_SENDMSG          = 9  // 5.3
	IORING_OP_RECVMSG          = 10 // 5.3; multishot since 6.0
	IORING_OP_TIMEOUT          = 11 // 5.4
	IORING_OP_TIMEOUT_REMOVE   = 12 // 5.5
	IORING_OP_ACCEPT           = 13 // 5.5; multishot since 5.19
	IORING_OP_ASYNC_CANCEL     = 14 // 5.5
	IORING_OP_LINK_TIMEOUT     = 15 // 5.5
	IORING_OP_CONNECT          = 16 // 5.5
	IORING_OP_CLOSE            = 19 // 5.6
	IORING_OP_READ             = 22 // 5.6
	IORING_OP_WRITE            = 23 // 5.6
	IORING_OP_SEND             = 26 // 5.6
	IORING_OP_RECV             = 27 // 5.6; multishot since 6.0
	IORING_OP_SPLICE           = 30 // 5.7
	IORING_OP_PROVIDE_BUFFERS  = 31 // 5.7
	IORING_OP_REMOVE_BUFFERS   = 32 // 5.7
	IORING_OP_SHUTDOWN         = 34 // 5.11
	IORING_OP_MSG_RING         = 40 // 5.18
	IORING_OP_SOCKET           = 45 // 5.19
	IORING_OP_URING_CMD        = 46 // 5.19
	IORING_OP_SEND_ZC          = 47 // 6.0
	IORING_OP_SENDMSG_ZC       = 48 // 6.1
	IORING_OP_READ_MULTISHOT   = 49 // 6.7
	IORING_OP_FIXED_FD_INSTALL = 54 // 6.8
	IORING_OP_BIND             = 56 // 6.11
	IORING_OP_LISTEN           = 57 // 6.11
	IORING_OP_RECV_ZC          = 58 // 6.15
)

// Entry flags, for SQE.Flags.
const (
	IOSQE_FIXED_FILE       = 1 << 0
	IOSQE_IO_DRAIN         = 1 << 1 // 5.2
	IOSQE_IO_LINK          = 1 << 2 // 5.3
	IOSQE_IO_HARDLINK      = 1 << 3 // 5.5
	IOSQE_ASYNC            = 1 << 4 // 5.6
	IOSQE_BUFFER_SELECT    = 1 << 5 // 5.7
	IOSQE_CQE_SKIP_SUCCESS = 1 << 6 // 5.17; no completion unless the operation fails
)

// Modifiers of single operations: accept, receive and send in SQE.IOPrio, poll in SQE.Len, cancel
// and timeout in SQE.OpFlags.
const (
	IORING_ACCEPT_MULTISHOT  = 1 << 0 // 5.19
	IORING_ACCEPT_DONTWAIT   = 1 << 1 // 6.10
	IORING_ACCEPT_POLL_FIRST = 1 << 2 // 6.10

	IORING_RECVSEND_POLL_FIRST  = 1 << 0 // 5.19; wait for readiness before the first try
	IORING_RECV_MULTISHOT       = 1 << 1 // 6.0
	IORING_RECVSEND_FIXED_BUF   = 1 << 2 // 6.0
	IORING_SEND_ZC_REPORT_USAGE = 1 << 3 // 6.2
	IORING_RECVSEND_BUNDLE      = 1 << 4 // 6.10; one transfer may span several provided buffers

	IORING_POLL_ADD_MULTI        = 1 << 0 // 5.13
	IORING_POLL_UPDATE_EVENTS    = 1 << 1 // 5.13
	IORING_POLL_UPDATE_USER_DATA = 1 << 2 // 5.13
	IORING_POLL_ADD_LEVEL        = 1 << 3 // 6.0
	IORING_ASYNC_CANCEL_ALL      = 1 << 0 // 5.19; every match, and the result is their number
	IORING_ASYNC_CANCEL_FD       = 1 << 1 // 5.19; by descriptor; PrepCancelFD sets it
	IORING_ASYNC_CANCEL_ANY      = 1 << 2 // 5.19; everything on this ring
	IORING_ASYNC_CANCEL_FD_FIXED = 1 << 3 // 6.0
	IORING_ASYNC_CANCEL_USERDATA = 1 << 4 // 6.6; also by user data when another key is given
	IORING_ASYNC_CANCEL_OP       = 1 << 5 // 6.6
	IORING_TIMEOUT_ABS           = 1 << 0 // 5.4
	IORING_TIMEOUT_UPDATE        = 1 << 1 // 5.11
	IORING_TIMEOUT_BOOTTIME      = 1 << 2 // 5.15
	IORING_TIMEOUT_REALTIME      = 1 << 3 // 5.15
	IORING_LINK_TIMEOUT_UPDATE   = 1 << 4 // 5.15
	IORING_TIMEOUT_ETIME_SUCCESS = 1 << 5 // 5.16
	IORING_TIMEOUT_MULTISHOT     = 1 << 6 // 6.4
	IORING_MSG_DATA              = 0      // 5.18
	IORING_MSG_RING_CQE_SKIP     = 1 << 0 // 6.0
	IORING_MSG_RING_FLAGS_PASS   = 1 << 1 // 6.3
	IORING_NOTIF_USAGE_ZC_COPIED = 1 << 31
)

// Completion flags, in CQE.Flags.
const (
	IORING_CQE_F_BUFFER        = 1 << 0 // 5.7; the upper 16 bits are a buffer id
	IORING_CQE_F_MORE          = 1 << 1 // 5.13; the request stays armed
	IORING_CQE_F_SOCK_NONEMPTY = 1 << 2 // 5.19; the socket had more to read
	IORING_CQE_F_NOTIF         = 1 << 3 // 6.0
	IORING_CQE_F_BUF_MORE      = 1 << 4 // 6.12; the kernel keeps the rest of this buffer

	IORING_CQE_BUFFER_SHIFT = 16
)

// Flags of the shared submission queue word.
const (
	IORING_SQ_NEED_WAKEUP = 1 << 0
	IORING_SQ_CQ_OVERFLOW = 1 << 1 // 5.8
	IORING_SQ_TASKRUN     = 1 << 2 // 5.19
)

// Enter flags.
const (
	IORING_ENTER_GETEVENTS       = 1 << 0
	IORING_ENTER_SQ_WAKEUP       = 1 << 1
	IORING_ENTER_SQ_WAIT         = 1 << 2 // 5.10
	IORING_ENTER_EXT_ARG         = 1 << 3 // 5.11
	IORING_ENTER_REGISTERED_RING = 1 << 4 // 5.18
)

// Register operations and the flags of buffer rings.
const (
	IORING_REGISTER_PROBE        = 8  // 5.6
	IORING_REGISTER_PBUF_RING    = 22 // 5.19
	IORING_UNREGISTER_PBUF_RING  = 23 // 5.19
	IORING_REGISTER_SYNC_CANCEL  = 24 // 6.0
	IORING_REGISTER_PBUF_STATUS  = 26 // 6.8
	IORING_REGISTER_RESIZE_RINGS = 33 // 6.13

	IOU_PBUF_RING_MMAP = 1 << 0 // 6.4
	IOU_PBUF_RING_INC  = 1 << 1 // 6.12; one buffer is used up by several receives
)

// Offsets that name the mappings to mmap(2).
const (
	IORING_OFF_SQ_RING = 0
	IORING_OFF_CQ_RING = 0x8000000
	IORING_OFF_SQES    = 0x10000000
)
