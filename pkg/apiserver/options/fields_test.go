package options

import (
	"cmp"
	"strings"
	"testing"
)

func TestValidateFieldRules(t *testing.T) {
	tests := map[string]struct {
		annotations []string
		hosts       string
		error       string
	}{
		"hosts":       {hosts: "Enforce"},
		"any host":    {hosts: "Off"},
		"a boolean":   {hosts: "true", error: `--host-authorization: "true" must be Off, Warn or Enforce`},
		"lower case":  {hosts: "warn", error: `--host-authorization: "warn" must be Off, Warn or Enforce`},
		"none":        {},
		"keys":        {annotations: []string{"service.beta.kubernetes.io/aws-load-balancer-type", "internal"}},
		"domain":      {annotations: []string{"service.beta.kubernetes.io/*"}},
		"prefix":      {annotations: []string{"service.beta.kubernetes.io/aws-*"}},
		"all":         {annotations: []string{"*"}, error: `"*" must name a domain`},
		"all domains": {annotations: []string{"*/a"}, error: `"*/a" is not the key of an annotation`},
		"no key":      {annotations: []string{"a b"}, error: `"a b" is not the key of an annotation`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o, err := NewOptions()
			if err != nil {
				t.Fatal(err)
			}
			if o.HostAuthorization != "Warn" {
				t.Errorf("--host-authorization is %q by default, want Warn", o.HostAuthorization)
			}
			o.AllowedServiceAnnotations, o.HostAuthorization = test.annotations, cmp.Or(test.hosts, o.HostAuthorization)
			completed, err := o.Complete()
			if err != nil {
				t.Fatal(err)
			}
			err = completed.validateFieldRules()
			if (err != nil) != (test.error != "") || err != nil && !strings.Contains(err.Error(), test.error) {
				t.Errorf("error %v, want %q in it", err, test.error)
			}
		})
	}
}
