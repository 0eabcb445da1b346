package status

import (
	"encoding/json"
	"io"
)

func writeJSON(w io.Writer, s *Snapshot) error { return json.NewEncoder(w).Encode(s) }
