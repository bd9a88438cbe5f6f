// Command mime-db prints the content types of a release of the npm package mime-db, in the format of nginx. mime-db has
// more than a thousand extensions, most of them of formats that no page loads: the configuration of each Website has
// those that isPublished reports.
//
//	npm pack mime-db@1.54.0 && tar -xf mime-db-1.54.0.tgz
//	go run ./hack/mime-db package >pkg/controller/website/resources/mime.types
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mime-db DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "mime-db: %v\n", err)
		os.Exit(1)
	}
}

// entry is a content type of mime-db.
type entry struct {
	Source     string   `json:"source"`
	Extensions []string `json:"extensions"`
}

func write(out io.Writer, dir string) error {
	var release struct {
		Version string `json:"version"`
	}
	if err := read(filepath.Join(dir, "package.json"), &release); err != nil {
		return err
	}
	var types map[string]entry
	if err := read(filepath.Join(dir, "db.json"), &types); err != nil {
		return err
	}
	license, err := os.ReadFile(filepath.Join(dir, "LICENSE"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "# mime-db %s, printed by hack/mime-db. Do not edit. Its license:\n#\n", release.Version)
	for line := range strings.Lines(strings.TrimSpace(string(license))) {
		fmt.Fprintln(out, strings.TrimSpace("# "+line))
	}
	fmt.Fprintln(out)
	extensions := map[string][]string{}
	for extension, contentType := range published(byExtension(types)) {
		extensions[contentType] = append(extensions[contentType], extension)
	}
	for _, contentType := range slices.Sorted(maps.Keys(extensions)) {
		slices.Sort(extensions[contentType])
		fmt.Fprintf(out, "%s %s;\n", contentType, strings.Join(extensions[contentType], " "))
	}
	return nil
}

// byExtension returns one type for each extension: a registered one where there is any, and of several the one that is
// not of the kind application or of a vendor.
func byExtension(types map[string]entry) map[string]string {
	rank := func(contentType string) int {
		rank := slices.Index([]string{"nginx", "", "apache", "iana"}, types[contentType].Source) * 4
		if !strings.HasPrefix(contentType, "application/") {
			rank += 2
		}
		if !strings.Contains(contentType, "/vnd.") {
			rank++
		}
		return rank
	}
	chosen := map[string]string{}
	for _, contentType := range slices.Sorted(maps.Keys(types)) {
		for _, extension := range types[contentType].Extensions {
			before, ok := chosen[extension]
			if !ok || rank(contentType) > rank(before) {
				chosen[extension] = contentType
			}
		}
	}
	return chosen
}

// applications are extensions that are published although their types are of the kind application, and vendor-specific
// or not registered.
const applications = `
	3ds 7z ai aif aifc aiff apk asf asx atom avi azw bdf bz bz2 c cab caf cbr cbz cc cer cjs cpp crl crt crx cwl cxx dae
	dbk dcm dds der djv djvu doc docm docx dot dotx dtd dwg dxf eml eot epub eps f4v fli flv geojson gml gpx gz h hbs
	hh hjson ics ipynb jar java jng jnlp json json5 jsonld key kml kmz latex lottie lua m3u m3u8 m4v map mathml mbox
	meta4 metalink mht mhtml mk3d mka mkv mml mng mobi mpd mpp ncx nfo nq nt numbers odb odc odf odg odm odp ods odt
	ogx opf opml otg oth otp ots ott owl oxps p10 p12 p7m p7s pac pages pbm pcf pcx pdf pem pfa pfb pfx pgm pgp pl pnm
	pot potx ppm pps ppsx ppt pptm pptx ps psd pub ra ram rar rdf rgb rng rnc rpm rq rss rtf sass scss sdp sh sig smil
	sql srt srx swf tar tcl tei tex texi tga toml torrent trig ttml usda usdz vsd vsdx wasm wax wbmp webmanifest wma
	wmv wsdl xaml xbm xht xhtml xlf xls xlsm xlsx xltx xml xpi xpm xps xsd xsl xslt xspf xz zip`

// otherTypes replace types of mime-db: for missing extensions, newer types, and types with the widest
// support in players and readers.
var otherTypes = map[string]string{
	"asc": "text/plain", "cur": "image/x-icon", "flac": "audio/flac", "ico": "image/x-icon",
	"jsonl": "application/jsonl", "m4v": "video/mp4", "ndjson": "application/x-ndjson", "tgz": "application/gzip",
	"topojson": "application/json", "vcf": "text/vcard", "wav": "audio/wav", "xml": "application/xml",
	"xsl": "application/xml", "yaml": "application/yaml", "yml": "application/yaml", "zst": "application/zstd",
	"rtf": "application/rtf",
}

// published returns the types of the extensions that pages publish.
func published(types map[string]string) map[string]string {
	all := maps.Clone(otherTypes)
	named := strings.Fields(applications)
	for extension, contentType := range types {
		// The controller has a type of its own for svgz.
		if extension != "svgz" && all[extension] == "" &&
			(isPublished(contentType) || slices.Contains(named, extension)) {
			all[extension] = contentType
		}
	}
	return all
}

// isPublished reports whether browsers may do more with files of a type than save them.
func isPublished(contentType string) bool {
	kind, name, _ := strings.Cut(contentType, "/")
	return slices.Contains([]string{"audio", "font", "image", "model", "text", "video"}, kind) &&
		!strings.HasPrefix(name, "vnd.") && !strings.HasPrefix(name, "x-") && !strings.HasPrefix(name, "prs.")
}

func read(file string, into any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
