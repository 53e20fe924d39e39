package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/assay-dev/assay/core"
)

// SignatureHeader carries a message's signature: "t=<seconds since 1970>,v1=<hex>", where v1
// is the HMAC-SHA256 of the seconds, a full stop and the body. The time lets a receiver
// refuse a message that somebody recorded and sends again.
const SignatureHeader = "Assay-Signature"

// Sign is the signature of a message that is sent at a time.
func Sign(secret core.Secret, body []byte, at time.Time) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	return "t=" + seconds + ",v1=" + hex.EncodeToString(sum(secret, seconds, body))
}

func sum(secret core.Secret, seconds string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret.Reveal()))
	_, _ = mac.Write([]byte(seconds + "."))
	_, _ = mac.Write(body)
	return mac.Sum(nil)
}

// ErrSignature tells that a message is not from whom it should be, or too old.
var ErrSignature = errors.New("the message's signature does not count")

// Verify is for receivers: it returns ErrSignature unless the header signs the body, at a
// time that is no further than tolerance from now.
func Verify(secret core.Secret, header string, body []byte, now time.Time, tolerance time.Duration) error {
	seconds, given, found := strings.Cut(strings.TrimPrefix(header, "t="), ",v1=")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if !found || err != nil {
		return ErrSignature
	}
	signature, err := hex.DecodeString(given)
	if err != nil || !hmac.Equal(signature, sum(secret, seconds, body)) || now.Sub(time.Unix(unix, 0)).Abs() > tolerance {
		return ErrSignature
	}
	return nil
}
