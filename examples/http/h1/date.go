package h1

import "time"

// dateFormat is the IMF-fixdate of RFC 9110 section 5.6.7.
const dateFormat = "Mon, 02 Jan 2006 15:04:05 GMT"

// DateCache formats the Date field once a second. The zero value is ready; it is not safe for
// concurrent use: give each worker its own.
type DateCache struct {
	second int64
	text   []byte
}

// At is the date of that Unix second, 29 bytes, valid until a call with another second.
func (d *DateCache) At(second int64) []byte {
	if second != d.second || d.text == nil {
		d.second = second
		d.text = time.Unix(second, 0).UTC().AppendFormat(d.text[:0], dateFormat)
	}
	return d.text
}
