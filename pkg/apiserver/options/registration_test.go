package options

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestValidateRegistration(t *testing.T) {
	const service, cert = "--service=website-system/website-apiserver:443", "--tls-cert-file=tls.crt"
	tests := map[string]struct {
		flags []string
		error string
	}{
		"none":                  {},
		"generated certificate": {flags: []string{service}},
		"certificate of a file": {flags: []string{service, cert, "--service-ca-file=ca.crt"}},
		"no CA of the file":     {flags: []string{service, cert}, error: "requires --service-ca-file"},
		"a CA of nothing": {flags: []string{service, "--service-ca-file=ca.crt"},
			error: "requires --tls-cert-file"},
		"a CA without a Service":     {flags: []string{"--service-ca-file=ca.crt"}, error: "requires --service"},
		"no namespace":               {flags: []string{"--service=website-apiserver:443"}, error: "NAMESPACE/NAME:PORT"},
		"too short for the rotation": {flags: []string{service, "--serving-certificate-duration=30s"}, error: "from 1m0s to"},
		"too long for a duration": {flags: []string{service, "--serving-certificate-duration=438000h"},
			error: "from 1m0s to"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o, err := NewOptions()
			if err != nil {
				t.Fatal(err)
			}
			flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
			for _, set := range o.Flags().FlagSets {
				flags.AddFlagSet(set)
			}
			if err := flags.Parse(test.flags); err != nil {
				t.Fatal(err)
			}
			completed, err := o.Complete()
			if err != nil {
				t.Fatal(err)
			}
			err = completed.validateRegistration()
			if (err == nil) != (test.error == "") || err != nil && !strings.Contains(err.Error(), test.error) {
				t.Errorf("validateRegistration = %v, want %q", err, test.error)
			}
		})
	}
}
