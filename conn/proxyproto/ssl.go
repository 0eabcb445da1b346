package proxyproto

import "encoding/binary"

// The types of the values in an SSL value: text, ASCII but for the name.
const (
	SubtypeSSLVersion Type = 0x21 // such as TLSv1.3
	SubtypeSSLCN      Type = 0x22 // the Common Name of the client's certificate, UTF-8
	SubtypeSSLCipher  Type = 0x23 // such as ECDHE-RSA-AES128-GCM-SHA256
	SubtypeSSLSigAlg  Type = 0x24 // of the proxy's certificate, such as SHA256
	SubtypeSSLKeyAlg  Type = 0x25 // of the proxy's certificate, such as RSA2048
)

// The bits of SSL.Client.
const (
	ClientSSL      = 0x01 // the client has connected over TLS
	ClientCertConn = 0x02 // it has shown a certificate over this connection
	ClientCertSess = 0x04 // or at least once in the TLS session
)

const sslFixed = 1 + 4

// SSL is what the proxy says of the client's TLS, which it has ended.
type SSL struct {
	Client uint8  // ClientSSL and further bits
	Verify uint32 // 0: if the client has shown a certificate, that was verified
	TLVs   TLVs   // see SubtypeSSLVersion and those after it
}

// SSL is the value of TypeSSL, if there is one. It is a part of t.
func (t TLVs) SSL() (s SSL, ok bool) {
	v, ok := t.Get(TypeSSL)
	if !ok || len(v) < sslFixed {
		return SSL{}, false
	}
	return SSL{Client: v[0], Verify: binary.BigEndian.Uint32(v[1:]), TLVs: TLVs(v[sslFixed:])}, true
}

// Verified reports whether the client has shown a certificate, now or earlier
// in its session, that the proxy has verified.
func (s SSL) Verified() bool {
	return s.Verify == 0 && s.Client&(ClientCertConn|ClientCertSess) != 0
}

// AppendSSL appends a value of TypeSSL. It panics if that is longer than 65,535
// bytes.
func AppendSSL(t TLVs, s SSL) TLVs {
	v := append(make([]byte, 0, sslFixed+len(s.TLVs)), s.Client)
	v = binary.BigEndian.AppendUint32(v, s.Verify)
	return AppendTLV(t, TypeSSL, append(v, s.TLVs...))
}
