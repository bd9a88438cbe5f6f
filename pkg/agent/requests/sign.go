package requests

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// lifetime is the validity of a signature.
	lifetime = time.Minute
	// leeway is the accepted difference of the clocks of two nodes.
	leeway = 30 * time.Second
)

// ErrUnsigned is a request without a signature.
var ErrUnsigned = errors.New("the request is not signed")

var encoding = base64.RawURLEncoding.Strict()

// signedText returns the signed text. Its first line distinguishes it from texts that the key may sign for another
// purpose.
func signedText(pod, at string, parameters url.Values) []byte {
	return fmt.Appendf(nil, "website-controller\n%s\n%s\n%s", pod, at, parameters.Encode())
}

// Sign returns the value of Header for a request to a pod, which is named by its UID: the time in seconds, and the
// signature.
func Sign(key ed25519.PrivateKey, pod string, parameters url.Values, now time.Time) string {
	at := strconv.FormatInt(now.Unix(), 10)
	return at + "." + encoding.EncodeToString(ed25519.Sign(key, signedText(pod, at, parameters)))
}

// Verify returns an error unless the value of Header signs a request to a pod, by one of the
// keys and recently.
func Verify(keys PublicKeys, pod, header string, parameters url.Values, now time.Time) error {
	if header == "" {
		return ErrUnsigned
	}
	if pod == "" {
		return errors.New("the agent does not know the UID of its pod")
	}
	at, encoded, _ := strings.Cut(header, ".")
	seconds, timeErr := strconv.ParseInt(at, 10, 64)
	signature, err := encoding.DecodeString(encoded)
	if err := errors.Join(timeErr, err); err != nil {
		return fmt.Errorf("reading the signature: %w", err)
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > lifetime+leeway || age < -leeway {
		return fmt.Errorf("the signature has expired, or is of the future: its age is %v", age)
	}
	text := signedText(pod, at, parameters)
	if !slices.ContainsFunc(keys, func(key ed25519.PublicKey) bool { return ed25519.Verify(key, text, signature) }) {
		return errors.New("the signature is by an unknown key, or of another request or pod")
	}
	return nil
}
