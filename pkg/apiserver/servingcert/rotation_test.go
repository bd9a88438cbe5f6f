package servingcert

import (
	"crypto/x509"
	"testing"
	"time"
)

var testRotation = rotation{name: "test", dnsNames: []string{"website-apiserver.website-system.svc"},
	lifetime: 20 * time.Minute}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// newKeys returns the keys of a first start.
func newKeys(t *testing.T) *keys {
	t.Helper()
	k, err := testRotation.next(nil, start, false)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// verifies returns an error unless a client with that bundle accepts the certificate.
func verifies(bundle []byte, leaf *x509.Certificate, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: testRotation.dnsNames[0], CurrentTime: now})
	return err
}

// TestRotation rotates for 12 lifetimes of a certificate, under every lag of clients and
// replicas that is shorter than propagation.
func TestRotation(t *testing.T) {
	const second = time.Second
	for name, test := range map[string]struct{ client, replica time.Duration }{
		"at once":         {0, 0},
		"slow client":     {propagation - second, 0},
		"slow replica":    {0, propagation - second},
		"both are slow":   {propagation - second, propagation - second},
		"slower together": {propagation / 2, propagation - second},
	} {
		t.Run(name, func(t *testing.T) {
			// version is the content of the Secret from a time on.
			type version struct {
				*keys
				from time.Time
			}
			history := []version{{newKeys(t), start}}
			// at returns the keys that a client with a lag has.
			at := func(now time.Time, lag time.Duration) *keys {
				seen := history[0].keys
				for _, v := range history {
					if !v.from.Add(lag).After(now) {
						seen = v.keys
					}
				}
				return seen
			}
			type pair struct{ trusting, served *keys }
			verified := map[pair]bool{}
			authorities, leaves := map[string]bool{}, map[string]bool{}
			for now := start; now.Before(start.Add(12 * testRotation.lifetime)); now = now.Add(propagation / 5) {
				k := history[len(history)-1].keys
				// The API server's trust in the bundle is known without lag.
				next, err := testRotation.next(k, now, true)
				if err != nil {
					t.Fatal(err)
				}
				if next != nil {
					if next, err = parse(next.data()); err != nil {
						t.Fatal(err)
					}
					history = append(history, version{next, now})
				}
				served, trusting := at(now, test.replica), at(now, test.client)
				authorities[string(served.ca.Raw)], leaves[string(served.leaf.Raw)] = true, true
				if both := (pair{trusting, served}); !verified[both] {
					if err := verifies(trusting.bundle(), served.leaf.Certificate, now); err != nil {
						t.Fatalf("after %s, a client rejects the certificate: %v", now.Sub(start), err)
					}
					verified[both] = true
				}
				// An expired certificate would be rejected before its expiry is noticed.
				if left := served.leaf.NotAfter.Sub(now); left < testRotation.lifetime/4 {
					t.Fatalf("after %s, a certificate is served that expires in %s", now.Sub(start), left)
				}
			}
			// Certificates are renewed after two thirds: 18 certificates, and a CA per 2.7 lifetimes.
			if len(leaves) < 16 || len(authorities) < 4 {
				t.Errorf("%d certificates and %d CAs in 12 lifetimes, want at least 16 and 4", len(leaves), len(authorities))
			}
			if former := history[len(history)-1].former; len(former) > 1 {
				t.Errorf("%d former CAs are trusted", len(former))
			}
		})
	}
}

func TestNext(t *testing.T) {
	expired := testRotation.lifetime + time.Minute
	renamed := testRotation
	renamed.dnsNames = []string{"other.website-system.svc"}
	rotated := func(t *testing.T) *keys {
		k, err := newKeys(t).newCA("test", start, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	tests := map[string]struct {
		rotation rotation
		keys     func(t *testing.T) *keys
		after    time.Duration
		trusted  bool
		// These changes are expected.
		leaf, ca bool
	}{
		"fresh":                             {testRotation, newKeys, time.Minute, true, false, false},
		"two thirds over":                   {testRotation, newKeys, testRotation.lifetime * 2 / 3, true, true, false},
		"clients lack the CA":               {testRotation, newKeys, testRotation.lifetime * 2 / 3, false, false, false},
		"expired, clients lack the CA":      {testRotation, newKeys, expired, false, true, false},
		"another name":                      {renamed, newKeys, time.Second, false, true, false},
		"everything has expired":            {testRotation, newKeys, 10 * testRotation.lifetime, false, false, true},
		"a new CA that clients do not have": {testRotation, rotated, time.Minute, false, false, false},
		"a new CA that is too new":          {testRotation, rotated, propagation - time.Second, true, false, false},
		"a new CA that clients have":        {testRotation, rotated, propagation, true, true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			k := test.keys(t)
			next, err := test.rotation.next(k, start.Add(test.after), test.trusted)
			if err != nil {
				t.Fatal(err)
			}
			if next == nil {
				next = k
			}
			if leaf := !next.leaf.Equal(k.leaf.Certificate); leaf != test.leaf {
				t.Errorf("another certificate: %t", leaf)
			}
			if ca := !next.ca.Equal(k.ca.Certificate); ca != test.ca {
				t.Errorf("another CA: %t", ca)
			}
			if wait := test.rotation.wait(next, start.Add(test.after)); wait <= 0 {
				t.Errorf("the next step is looked for after %s", wait)
			}
		})
	}
}

func TestParse(t *testing.T) {
	otherData := newKeys(t).data()
	for name, change := range map[string]func(map[string][]byte){
		"no CA":                      func(d map[string][]byte) { delete(d, caCert) },
		"no key of the CA":           func(d map[string][]byte) { delete(d, caKey) },
		"the key of another CA":      func(d map[string][]byte) { d[caKey] = otherData[caKey] },
		"no certificate":             func(d map[string][]byte) { delete(d, "tls.crt") },
		"the key of another":         func(d map[string][]byte) { d["tls.key"] = otherData["tls.key"] },
		"a certificate is cut short": func(d map[string][]byte) { d["tls.crt"] = d["tls.crt"][:100] },
	} {
		t.Run(name, func(t *testing.T) {
			data := newKeys(t).data()
			if _, err := parse(data); err != nil {
				t.Fatal(err)
			}
			change(data)
			if _, err := parse(data); err == nil {
				t.Error("no error")
			}
		})
	}
}

// TestClockThatWasAhead: a certificate that is not valid yet is replaced at once, and not two
// months later.
func TestClockThatWasAhead(t *testing.T) {
	k, err := testRotation.next(nil, start.Add(60*24*time.Hour), false)
	if err != nil {
		t.Fatal(err)
	}
	now := start
	for range 20 {
		next, err := testRotation.next(k, now, true)
		if err != nil {
			t.Fatal(err)
		}
		if next != nil {
			k = next
		}
		now = now.Add(propagation / 5)
	}
	if err := verifies(k.bundle(), k.leaf.Certificate, now); err != nil || len(k.former) > 0 {
		t.Errorf("after %s: %v, %d former CAs", now.Sub(start), err, len(k.former))
	}
}
