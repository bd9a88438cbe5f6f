package requests

import (
	"fmt"
	"net/url"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	// lifetime is the validity of a signature.
	lifetime = time.Minute
	// leeway is the accepted difference of the clocks of two nodes.
	leeway = 30 * time.Second
	// issuer is the issuer of all tokens.
	issuer = "website-controller"
)

// claims are the signed fields of a request.
type claims struct {
	jwt.Claims
	// Request are the encoded parameters.
	Request string `json:"request"`
}

// Sign returns the value of Header for a request to a pod, which is named by its UID.
func Sign(key PrivateKey, pod string, parameters url.Values, now time.Time) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: key.key},
		(&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("signing a request: %w", err)
	}
	token, err := jwt.Signed(signer).Claims(claims{
		Claims: jwt.Claims{
			Issuer: issuer, Audience: jwt.Audience{pod},
			IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(lifetime)),
		},
		Request: parameters.Encode(),
	}).Serialize()
	if err != nil {
		return "", fmt.Errorf("signing a request: %w", err)
	}
	return scheme + token, nil
}
