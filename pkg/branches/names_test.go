package branches

import (
	"strings"
	"testing"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("long", 20)
	for branch, want := range map[string]struct{ name, host string }{
		"next":          {"shop-next", "next.shop.previews.example.com"},
		"v2-beta":       {"shop-v2-beta", "v2-beta.shop.previews.example.com"},
		"feature/cart":  {"shop-feature-cart-f51afc56", "feature-cart-"},
		"feature-cart":  {"shop-feature-cart", "feature-cart.shop.previews.example.com"},
		"Next":          {"shop-next-", "next-"},
		"cafe--1":       {"shop-cafe-1-", "cafe-1-"},
		"deadbeef":      {"shop-deadbeef-", "deadbeef-"},
		"cart-0123abcd": {"shop-cart-0123abcd-", "cart-0123abcd-"},
		"#":             {"shop-", ""},
		"日本":            {"shop-879800c8", "cf2abf0c.shop."},
		"zweig/ä-日本":    {"shop-zweig-", "zweig-"},
		"\u212a":        {"shop-k-", "k-"}, // The sign of Kelvin is a small k in lower case.
		long: {"shop-longlonglonglonglonglonglonglonglonglonglon-",
			"longlonglonglonglonglonglonglonglonglonglonglonglonglo-"},
		strings.Repeat("a", 52): {"shop-" + strings.Repeat("a", 52), strings.Repeat("a", 52) + ".shop"},
	} {
		if got := PreviewName("shop", branch); !strings.HasPrefix(got, want.name) {
			t.Errorf("the preview of %q is %q, want %q", branch, got, want.name)
		}
		if got := Host("shop", branch, "previews.example.com"); !strings.HasPrefix(got, want.host) {
			t.Errorf("the host of %q is %q, want %q", branch, got, want.host)
		}
	}
	if got := DeploymentName("2nd", "next"); got != "w-2nd-next" {
		t.Errorf("the Deployment of a Website that begins with a digit is %q", got)
	}
}

func TestHostDomain(t *testing.T) {
	for host, want := range map[string]string{
		"next.shop.previews.example.com": "previews.example.com", "next.other.example.com": "", "a.next.shop.example.com": "",
		"*.shop.example.com": "", ".shop.example.com": "", "next.shop.": "", "next.shop": "", "shop.example.com": "",
	} {
		if got, ok := HostDomain("shop", host); ok != (want != "") || ok && got != want {
			t.Errorf("the domain of %q is %q, %t, want %q", host, got, ok, want)
		}
	}
}

// FuzzNames: two branches never share a name or a host, and all are valid.
func FuzzNames(f *testing.F) {
	for _, seed := range [][3]string{
		{"shop", "feature/a", "feature-a"}, {"shop", "A", "a"}, {"shop", "a.b", "a-b"}, {"1", "#", "@@"}, {"shop", "a", "a-"},
		{strings.Repeat("w", 63), "a", "b"}, {"shop", strings.Repeat("a", 255), strings.Repeat("a", 254)},
		{"shop", "feature/a", "feature-a-0b2f0d1e"},
		{"shop", "日本", "中国"}, {"shop", "k", "\u212a"}, {"shop", "\u00e4", "a\u0308"}, {"1", "ä", "ö"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, website, a, b string) {
		if len(utilvalidation.IsDNS1123Label(website)) > 0 || !IsValid(a) || !IsValid(b) {
			return
		}
		for _, branch := range []string{a, b} {
			if name := PreviewName(website, branch); len(name) > maxName || len(utilvalidation.IsDNS1123Label(name)) > 0 {
				t.Errorf("the preview of %q is %q", branch, name)
			}
			if name := DeploymentName(website, branch); len(name) > maxName || len(utilvalidation.IsDNS1035Label(name)) > 0 {
				t.Errorf("the Deployment of %q is %q", branch, name)
			}
			host := Host(website, branch, "example.com")
			if len(utilvalidation.IsDNS1123Subdomain(host)) > 0 || len(strings.Split(host, ".")[0]) > maxLabel {
				t.Errorf("the host of %q is %q", branch, host)
			}
			if domain, ok := HostDomain(website, host); !ok || domain != "example.com" {
				t.Errorf("the host %q of %q is not known for one", host, branch)
			}
		}
		if a == b {
			return
		}
		if PreviewName(website, a) == PreviewName(website, b) || DeploymentName(website, a) == DeploymentName(website, b) ||
			Host(website, a, "x.y") == Host(website, b, "x.y") {
			t.Errorf("%q and %q share a name", a, b)
		}
	})
}
