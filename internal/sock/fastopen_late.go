package sock

import "runtime"

// FastOpenLate says that ListenFastOpen comes when the socket listens, and not before.
const FastOpenLate = runtime.GOOS == "darwin" || runtime.GOOS == "ios"
