package requests

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// scheme precedes the token in Header.
const scheme = "Bearer "

// ErrUnsigned is a request without a signature.
var ErrUnsigned = errors.New("the request is not signed")

// Verify returns an error unless the value of Header signs a request to a pod, by one of the
// keys and recently.
func Verify(keys PublicKeys, pod, header string, parameters url.Values, now time.Time) error {
	token, ok := strings.CutPrefix(header, scheme)
	if !ok {
		return ErrUnsigned
	}
	if pod == "" {
		return errors.New("the agent does not know the UID of its pod")
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return fmt.Errorf("reading the signature: %w", err)
	}
	var signed claims
	if err := parsed.Claims(keys.set, &signed); err != nil {
		return fmt.Errorf("checking the signature: %w", err)
	}
	if signed.IssuedAt == nil || signed.Expiry == nil || signed.Expiry.Time().Sub(signed.IssuedAt.Time()) > lifetime {
		return errors.New("the signature holds for longer than a minute")
	}
	expected := jwt.Expected{Issuer: issuer, AnyAudience: jwt.Audience{pod}, Time: now}
	if err := signed.ValidateWithLeeway(expected, leeway); err != nil {
		return fmt.Errorf("checking the signature: %w", err)
	}
	if signed.Request != parameters.Encode() {
		return errors.New("the signature is of another request")
	}
	return nil
}
