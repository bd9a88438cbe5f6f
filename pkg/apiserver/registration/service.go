package registration

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Service is a reference to the Service of website-apiserver.
type Service struct {
	Namespace, Name string
	Port            int32
}

// ParseService parses NAMESPACE/NAME:PORT.
func ParseService(s string) (Service, error) {
	namespace, rest, ok := strings.Cut(s, "/")
	name, portText, err := net.SplitHostPort(rest)
	if !ok || err != nil {
		return Service{}, fmt.Errorf("%q: must be NAMESPACE/NAME:PORT, as in website-system/website-apiserver:443", s)
	}
	port, err := strconv.ParseInt(portText, 10, 32)
	if err != nil {
		return Service{}, fmt.Errorf("%q: the port must be a number", s)
	}
	problems := append(validation.IsDNS1123Label(namespace), validation.IsDNS1035Label(name)...)
	if problems = append(problems, validation.IsValidPortNum(int(port))...); len(problems) > 0 {
		return Service{}, fmt.Errorf("%q: %w", s, errors.New(strings.Join(problems, "; ")))
	}
	return Service{namespace, name, int32(port)}, nil
}

// DNSName returns the name by which kube-apiserver verifies the serving certificate.
func (s Service) DNSName() string { return s.Name + "." + s.Namespace + ".svc" }

// String returns NAMESPACE/NAME:PORT.
func (s Service) String() string {
	return s.Namespace + "/" + net.JoinHostPort(s.Name, strconv.Itoa(int(s.Port)))
}
