package listen

// Reason says why a connection was refused. It is a fixed word, fit to be a label of a metric.
type Reason string

// The reasons.
const (
	ReasonLimit Reason = "limit" // as many as may were open; see Counter
	ReasonPeer  Reason = "peer"  // its process is not allowed; see Allow
	ReasonTLS   Reason = "tls"   // no TLS handshake was agreed on, as without a certificate that is asked for
)

// Refusal is a connection that was closed before a byte was read of what it carries.
type Refusal struct {
	Addr   Addr // where it came in
	Reason Reason
	Err    error // never nil
}
