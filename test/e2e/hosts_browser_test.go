package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/framework"
)

// hostProofScript writes the browser's connection properties and the commit in a
// response's header into the page.
const hostProofScript = `<!doctype html><title>Shop</title><link rel="stylesheet" href="/style.css"><h1>Shop</h1>
<script type="module">
const [navigation] = performance.getEntriesByType("navigation");
const [style] = performance.getEntriesByName(new URL("/style.css", location.href).href);
const page = await fetch(location.href, {cache: "no-store"});
document.body.append("by " + navigation.nextHopProtocol + ", secure context " + isSecureContext +
  ", compressed " + (style.encodedBodySize * 4 < style.decodedBodySize) +
  ", commit " + page.headers.get("website-commit") +
  ", first byte " + (navigation.responseStart - navigation.requestStart).toFixed(1) + " ms after the request");
</script>`

// hostProofFiles returns a page with the script, and a compressible stylesheet.
func hostProofFiles(text string) map[string]string {
	return map[string]string{"index.html": hostProofScript + text,
		"style.css": strings.Repeat("h1 { color: #1d2433; }\n", 200)}
}

// TestHostInBrowser opens a host in Chromium: with the CA of the cluster imported, there is no
// warning, the connection is HTTP/2, and the page is of the last commit. Without the CA, a
// warning replaces the page.
func TestHostInBrowser(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	requireChromium(t)
	certutil, err := exec.LookPath("certutil")
	if err != nil {
		t.Skipf("no certutil, which imports a CA into Chromium (Debian's package libnss3-tools): %v", err)
	}
	r := newRepository(t, "", namespace, "main")
	r.write(t, hostProofFiles(""))
	s := applySite(t, newWebsite(namespace, r), r)
	first := r.push(t, "Open the shop")
	s.waitLive(t, first)
	host := s.host()
	s.patch(t, `{"spec":{"hosts":[{"name":"`+host+`"}]}}`)
	s.waitRouted(t, "https://"+host)

	trusting := t.TempDir()
	database := filepath.Join(trusting, ".pki", "nssdb")
	if err := os.MkdirAll(database, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-N", "--empty-password"},
		{"-A", "-n", "sites", "-t", "C,,", "-i", framework.Cluster.SitesCA()},
	} {
		if out, err := exec.CommandContext(t.Context(), certutil, append([]string{"-d", "sql:" + database}, args...)...).
			CombinedOutput(); err != nil {
			t.Fatalf("certutil %v: %v\n%s", args, err, out)
		}
	}
	rules := "MAP *." + devcluster.HostDomain + " " + framework.Cluster.NodeAddress() + " , MAP * ~NOTFOUND , EXCLUDE " +
		framework.Cluster.NodeAddress()
	if dom := runChromium(t, t.TempDir(), rules, "--dump-dom", "https://"+host+"/"); strings.Contains(dom,
		"<h1>Shop</h1>") {
		t.Errorf("without the CA there is no warning:\n%s", dom)
	}
	check := func(commit string) {
		t.Helper()
		proof := "by h2, secure context true, compressed true, commit " + commit
		dom := runChromium(t, trusting, rules, "--dump-dom", "https://"+host+"/")
		_, rest, found := strings.Cut(dom, proof)
		if !found {
			t.Errorf("the page is\n%s\nwant %q in it", dom, proof)
		}
		// Early hints could save at most this time.
		measured, _, _ := strings.Cut(rest, "<")
		t.Logf("page of %s%s", commit[:8], strings.TrimSpace(measured))
	}
	check(first)
	r.write(t, hostProofFiles("<p>Sale</p>"))
	second := r.push(t, "Begin the sale")
	s.syncLive(t, second)
	check(second)
}
