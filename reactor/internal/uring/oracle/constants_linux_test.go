//go:build !386 && !arm && !mips && !mipsle

package oracle

import (
	"testing"

	"github.com/pawelgaczynski/giouring"
	"github.com/stretchr/testify/require"

	. "github.com/suiro-go/suiro/reactor/internal/uring"
)

func TestOracleConstants(t *testing.T) {
	equal := func(name string, ours int64, theirs any) {
		t.Helper()
		require.EqualValues(t, theirs, ours, name)
	}
	equal("IOPOLL", IORING_SETUP_IOPOLL, giouring.SetupIOPoll)
	equal("SQPOLL", IORING_SETUP_SQPOLL, giouring.SetupSQPoll)
	equal("SQ_AFF", IORING_SETUP_SQ_AFF, giouring.SetupSQAff)
	equal("CQSIZE", IORING_SETUP_CQSIZE, giouring.SetupCQSize)
	equal("CLAMP", IORING_SETUP_CLAMP, giouring.SetupClamp)
	equal("ATTACH_WQ", IORING_SETUP_ATTACH_WQ, giouring.SetupAttachWQ)
	equal("R_DISABLED", IORING_SETUP_R_DISABLED, giouring.SetupRDisabled)
	equal("SUBMIT_ALL", IORING_SETUP_SUBMIT_ALL, giouring.SetupSubmitAll)
	equal("COOP_TASKRUN", IORING_SETUP_COOP_TASKRUN, giouring.SetupCoopTaskrun)
	equal("TASKRUN_FLAG", IORING_SETUP_TASKRUN_FLAG, giouring.SetupTaskrunFlag)
	equal("SQE128", IORING_SETUP_SQE128, giouring.SetupSQE128)
	equal("CQE32", IORING_SETUP_CQE32, giouring.SetupCQE32)
	equal("SINGLE_ISSUER", IORING_SETUP_SINGLE_ISSUER, giouring.SetupSingleIssuer)
	equal("DEFER_TASKRUN", IORING_SETUP_DEFER_TASKRUN, giouring.SetupDeferTaskrun)
	equal("NO_MMAP", IORING_SETUP_NO_MMAP, giouring.SetupNoMmap)
	equal("REGISTERED_FD_ONLY", IORING_SETUP_REGISTERED_FD_ONLY, giouring.SetupRegisteredFdOnly)

	equal("SINGLE_MMAP", IORING_FEAT_SINGLE_MMAP, giouring.FeatSingleMMap)
	equal("NODROP", IORING_FEAT_NODROP, giouring.FeatNoDrop)
	equal("SUBMIT_STABLE", IORING_FEAT_SUBMIT_STABLE, giouring.FeatSubmitStable)
	equal("RW_CUR_POS", IORING_FEAT_RW_CUR_POS, giouring.FeatRWCurPos)
	equal("CUR_PERSONALITY", IORING_FEAT_CUR_PERSONALITY, giouring.FeatCurPersonality)
	equal("FAST_POLL", IORING_FEAT_FAST_POLL, giouring.FeatFastPoll)
	equal("POLL_32BITS", IORING_FEAT_POLL_32BITS, giouring.FeatPoll32Bits)
	equal("SQPOLL_NONFIXED", IORING_FEAT_SQPOLL_NONFIXED, giouring.FeatSQPollNonfixed)
	equal("EXT_ARG", IORING_FEAT_EXT_ARG, giouring.FeatExtArg)
	equal("NATIVE_WORKERS", IORING_FEAT_NATIVE_WORKERS, giouring.FeatNativeWorkers)
	equal("RSRC_TAGS", IORING_FEAT_RSRC_TAGS, giouring.FeatRcrcTags)
	equal("CQE_SKIP", IORING_FEAT_CQE_SKIP, giouring.FeatCQESkip)
	equal("LINKED_FILE", IORING_FEAT_LINKED_FILE, giouring.FeatLinkedFile)
	equal("REG_REG_RING", IORING_FEAT_REG_REG_RING, giouring.FeatRegRegRing)

	equal("FIXED_FILE", IOSQE_FIXED_FILE, giouring.SqeFixedFile)
	equal("IO_DRAIN", IOSQE_IO_DRAIN, giouring.SqeIODrain)
	equal("IO_LINK", IOSQE_IO_LINK, giouring.SqeIOLink)
	equal("IO_HARDLINK", IOSQE_IO_HARDLINK, giouring.SqeIOHardlink)
	equal("ASYNC", IOSQE_ASYNC, giouring.SqeAsync)
	equal("BUFFER_SELECT", IOSQE_BUFFER_SELECT, giouring.SqeBufferSelect)
	equal("CQE_SKIP_SUCCESS", IOSQE_CQE_SKIP_SUCCESS, giouring.SqeCQESkipSuccess)

	equal("POLL_REMOVE", IORING_OP_POLL_REMOVE, giouring.OpPollRemove)
	equal("TIMEOUT_REMOVE", IORING_OP_TIMEOUT_REMOVE, giouring.OpTimeoutRemove)
	equal("LINK_TIMEOUT", IORING_OP_LINK_TIMEOUT, giouring.OpLinkTimeout)
	equal("WRITE", IORING_OP_WRITE, giouring.OpWrite)
	equal("SPLICE", IORING_OP_SPLICE, giouring.OpSplice)
	equal("PROVIDE_BUFFERS", IORING_OP_PROVIDE_BUFFERS, giouring.OpProvideBuffers)
	equal("REMOVE_BUFFERS", IORING_OP_REMOVE_BUFFERS, giouring.OpRemoveBuffers)
	equal("SOCKET", IORING_OP_SOCKET, giouring.OpSocket)
	equal("URING_CMD", IORING_OP_URING_CMD, giouring.OpUringCmd)
	equal("SEND_ZC", IORING_OP_SEND_ZC, giouring.OpSendZC)
	equal("SENDMSG_ZC", IORING_OP_SENDMSG_ZC, giouring.OpSendMsgZC)

	equal("ACCEPT_MULTISHOT", IORING_ACCEPT_MULTISHOT, giouring.AcceptMultishot)
	equal("POLL_FIRST", IORING_RECVSEND_POLL_FIRST, giouring.RecvsendPollFirst)
	equal("RECV_MULTISHOT", IORING_RECV_MULTISHOT, giouring.RecvMultishot)
	equal("FIXED_BUF", IORING_RECVSEND_FIXED_BUF, giouring.RecvsendFixedBuf)
	equal("ZC_REPORT_USAGE", IORING_SEND_ZC_REPORT_USAGE, giouring.SendZCReportUsage)
	equal("POLL_UPDATE_EVENTS", IORING_POLL_UPDATE_EVENTS, giouring.PollUpdateEvents)
	equal("POLL_UPDATE_USER_DATA", IORING_POLL_UPDATE_USER_DATA, giouring.PollUpdateUserData)
	equal("POLL_ADD_LEVEL", IORING_POLL_ADD_LEVEL, giouring.PollAddLevel)
	equal("CANCEL_ALL", IORING_ASYNC_CANCEL_ALL, giouring.AsyncCancelAll)
	equal("CANCEL_ANY", IORING_ASYNC_CANCEL_ANY, giouring.AsyncCancelAny)
	equal("CANCEL_FD_FIXED", IORING_ASYNC_CANCEL_FD_FIXED, giouring.AsyncCancelFdFixed)
	equal("TIMEOUT_ABS", IORING_TIMEOUT_ABS, giouring.TimeoutAbs)
	equal("TIMEOUT_UPDATE", IORING_TIMEOUT_UPDATE, giouring.TimeoutUpdate)
	equal("TIMEOUT_BOOTTIME", IORING_TIMEOUT_BOOTTIME, giouring.TimeoutBoottime)
	equal("TIMEOUT_REALTIME", IORING_TIMEOUT_REALTIME, giouring.TimeoutRealtime)
	equal("LINK_TIMEOUT_UPDATE", IORING_LINK_TIMEOUT_UPDATE, giouring.LinkTimeoutUpdate)
	equal("ETIME_SUCCESS", IORING_TIMEOUT_ETIME_SUCCESS, giouring.TimeoutETimeSuccess)
	equal("TIMEOUT_MULTISHOT", IORING_TIMEOUT_MULTISHOT, giouring.TimeoutMultishot)
	equal("MSG_DATA", IORING_MSG_DATA, giouring.MsgData)
	equal("MSG_RING_CQE_SKIP", IORING_MSG_RING_CQE_SKIP, giouring.MsgRingCQESkip)
	equal("MSG_RING_FLAGS_PASS", IORING_MSG_RING_FLAGS_PASS, giouring.MsgRingFlagsPass)
	equal("ZC_COPIED", IORING_NOTIF_USAGE_ZC_COPIED, giouring.NotifUsageZCCopied)

	equal("F_BUFFER", IORING_CQE_F_BUFFER, giouring.CQEFBuffer)
	equal("F_MORE", IORING_CQE_F_MORE, giouring.CQEFMore)
	equal("F_SOCK_NONEMPTY", IORING_CQE_F_SOCK_NONEMPTY, giouring.CQEFSockNonempty)
	equal("F_NOTIF", IORING_CQE_F_NOTIF, giouring.CQEFNotif)
	equal("BUFFER_SHIFT", IORING_CQE_BUFFER_SHIFT, giouring.CQEBufferShift)

	equal("NEED_WAKEUP", IORING_SQ_NEED_WAKEUP, giouring.SQNeedWakeup)
	equal("CQ_OVERFLOW", IORING_SQ_CQ_OVERFLOW, giouring.SQCQOverflow)
	equal("TASKRUN", IORING_SQ_TASKRUN, giouring.SQTaskrun)
	equal("GETEVENTS", IORING_ENTER_GETEVENTS, giouring.EnterGetEvents)
	equal("SQ_WAKEUP", IORING_ENTER_SQ_WAKEUP, giouring.EnterSQWakeup)
	equal("SQ_WAIT", IORING_ENTER_SQ_WAIT, giouring.EnterSQWait)
	equal("EXT_ARG", IORING_ENTER_EXT_ARG, giouring.EnterExtArg)
	equal("REGISTERED_RING", IORING_ENTER_REGISTERED_RING, giouring.EnterRegisteredRing)

	equal("REGISTER_PROBE", IORING_REGISTER_PROBE, giouring.RegisterProbe)
	equal("REGISTER_PBUF_RING", IORING_REGISTER_PBUF_RING, giouring.RegisterPbufRing)
	equal("UNREGISTER_PBUF_RING", IORING_UNREGISTER_PBUF_RING, giouring.UnregisterPbufRing)
	equal("PBUF_RING_MMAP", IOU_PBUF_RING_MMAP, giouring.PbufRingMMap)
}
