package e2e

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/test/framework"
)

// browserTimeout allows for a browser's first start on a small machine.
const browserTimeout = 5 * time.Minute

// browserScript proves that the browser accepted the types of scripts and
// styles: it writes values computed from both into the page.
const browserScript = `<script type="module">
import { words } from "/words.mjs";
document.querySelector("h1").insertAdjacentHTML("afterend",
  "<p id=proof>" + words.join(" ") + ", paper " + getComputedStyle(document.body).backgroundColor + "</p>");
</script>`

// TestBrowser opens the example site in Chromium, whose pictures stay in
// _artifacts/e2e.
func TestBrowser(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	chromium := browser(t)
	r := newRepository(t, "", namespace, "main")
	files := map[string]string{"words.mjs": "export const words = [\"modules\", \"work\"];\n"}
	example := framework.Path("artifacts", "examples", "site")
	entries, err := os.ReadDir(example)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(example, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(data)
	}
	files["index.html"] = strings.Replace(files["index.html"], "</body>", browserScript+"</body>", 1)
	r.write(t, files)
	s := applySite(t, newWebsite(namespace, r), r)
	s.waitLive(t, r.push(t, "Publish the example"))
	address := s.url(t)

	const proof = "modules work, paper rgb(246, 245, 241)"
	if dom := chromium(t, address, "--dump-dom", address+"/"); !strings.Contains(dom, proof) {
		t.Errorf("the page is\n%s\nwant %q in it", dom, proof)
	}
	for name, path := range map[string]string{"site.png": "/", "not-found.png": "/no/such/page"} {
		picture := artifact(t, name)
		if err := os.Remove(picture); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		chromium(t, address, "--screenshot="+picture, address+path)
		if err := checkPicture(picture); err != nil {
			t.Errorf("the picture of %s: %v", path, err)
		}
	}
}

// browser returns a function that runs headless Chromium with arguments for a
// site, and returns its output. It skips the test if there is no Chromium.
func browser(t *testing.T) func(t *testing.T, site string, args ...string) string {
	t.Helper()
	requireChromium(t)
	return func(t *testing.T, site string, args ...string) string {
		t.Helper()
		host, err := url.Parse(site)
		if err != nil {
			t.Fatal(err)
		}
		return runChromium(t, t.TempDir(), "MAP * ~NOTFOUND , EXCLUDE "+host.Hostname(), args...)
	}
}

// requireChromium skips the test if there is no Chromium.
func requireChromium(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skipf("no browser: install Chromium (Debian's package chromium): %v", err)
	}
}

// runChromium runs headless Chromium for a user with a home directory, with rules for name
// resolution, and returns its output.
func runChromium(t *testing.T, home, rules string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), browserTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "chromium", append([]string{
		"--headless=new", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,800", "--force-device-scale-factor=1",
		"--user-data-dir=" + filepath.Join(home, "profile"), "--no-first-run", "--virtual-time-budget=5000",
		// The browser sends no requests of its own.
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server",
		"--host-resolver-rules=" + rules,
		// Chromium's sandbox does not work for root, who runs these tests; the page is trusted.
		"--no-sandbox", "--disable-dev-shm-usage",
	}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_RUNTIME_DIR="+home)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("chromium %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String()
}

// checkPicture checks that a picture shows a styled page: a background of the
// right colour, and text on it.
func checkPicture(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	picture, err := png.Decode(file)
	if err != nil {
		return err
	}
	if size := picture.Bounds().Size(); size != image.Pt(1280, 800) {
		return fmt.Errorf("it is %v", size)
	}
	colours := map[color.Color]int{}
	for y := range 800 {
		for x := range 1280 {
			colours[color.RGBAModel.Convert(picture.At(x, y))]++
		}
	}
	paper, ink := color.RGBA{0xf6, 0xf5, 0xf1, 0xff}, color.RGBA{0x1d, 0x24, 0x33, 0xff}
	if colours[paper] < 1280*800/2 || colours[ink] < 100 {
		return fmt.Errorf("%d pixels of paper and %d of ink: the style is missing", colours[paper], colours[ink])
	}
	return nil
}
