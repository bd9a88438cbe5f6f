package images

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// These are the parts of SPDX 2.3 in the documents.
type (
	spdxDocument struct {
		SPDXVersion       string             `json:"spdxVersion"`
		DataLicense       string             `json:"dataLicense"`
		SPDXID            string             `json:"SPDXID"`
		Name              string             `json:"name"`
		DocumentNamespace string             `json:"documentNamespace"`
		CreationInfo      spdxCreationInfo   `json:"creationInfo"`
		Packages          []spdxPackage      `json:"packages"`
		Relationships     []spdxRelationship `json:"relationships"`
	}
	spdxCreationInfo struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		SPDXID           string            `json:"SPDXID"`
		Name             string            `json:"name"`
		VersionInfo      string            `json:"versionInfo"`
		DownloadLocation string            `json:"downloadLocation"`
		FilesAnalyzed    bool              `json:"filesAnalyzed"`
		LicenseConcluded string            `json:"licenseConcluded"`
		LicenseDeclared  string            `json:"licenseDeclared"`
		CopyrightText    string            `json:"copyrightText"`
		SourceInfo       string            `json:"sourceInfo,omitempty"`
		Checksums        []spdxChecksum    `json:"checksums,omitempty"`
		ExternalRefs     []spdxExternalRef `json:"externalRefs,omitempty"`
	}
	spdxChecksum struct {
		Algorithm     string `json:"algorithm"`
		ChecksumValue string `json:"checksumValue"`
	}
	spdxExternalRef struct {
		ReferenceCategory string `json:"referenceCategory"`
		ReferenceType     string `json:"referenceType"`
		ReferenceLocator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		SPDXElementID      string `json:"spdxElementId"`
		RelationshipType   string `json:"relationshipType"`
		RelatedSPDXElement string `json:"relatedSpdxElement"`
	}
)

const (
	noAssertion     = "NOASSERTION"
	documentElement = "SPDXRef-DOCUMENT"
	imageElement    = "SPDXRef-image"
	rootsModule     = "golang.org/x/crypto/x509roots/fallback"
)

// sbom describes the content of a program's image: the modules that are linked into it for
// any platform, Go's own library, and the root certificates.
func (o Options) sbom(program Program, digest v1.Hash, binaries []string) ([]byte, error) {
	var goVersion string
	modules := map[string]*debug.Module{}
	for _, binary := range binaries {
		info, err := buildinfo.ReadFile(binary)
		if err != nil {
			return nil, fmt.Errorf("reading which modules are in %s: %w", program.Name, err)
		}
		goVersion = info.GoVersion
		for _, module := range info.Deps {
			if module.Replace != nil {
				module = module.Replace
			}
			modules[module.Path] = module
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == rootsModule {
				modules[module.Path] = module
			}
		}
	}

	document := spdxDocument{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", SPDXID: documentElement,
		Name:              program.Image + ":" + o.Tag,
		DocumentNamespace: source + "/spdx/" + program.Name + "/" + digest.Hex,
		CreationInfo: spdxCreationInfo{Created: o.Date.UTC().Format(time.RFC3339),
			Creators: []string{"Tool: hack/images"}},
		Packages: []spdxPackage{
			{
				SPDXID: imageElement, Name: program.Image, VersionInfo: o.Tag, LicenseDeclared: license,
				Checksums: []spdxChecksum{{"SHA256", digest.Hex}},
			},
			modulePackage("SPDXRef-main", &debug.Module{Path: "github.com/kubesites/website-apiserver", Version: o.Version},
				license),
			modulePackage("SPDXRef-stdlib", &debug.Module{Path: "stdlib", Version: strings.TrimPrefix(goVersion, "go")},
				"BSD-3-Clause"),
		},
		Relationships: []spdxRelationship{
			{documentElement, "DESCRIBES", imageElement},
			{imageElement, "CONTAINS", "SPDXRef-main"},
			{imageElement, "CONTAINS", "SPDXRef-stdlib"},
		},
	}
	sorted := []*debug.Module{}
	for _, module := range modules {
		sorted = append(sorted, module)
	}
	slices.SortFunc(sorted, func(a, b *debug.Module) int { return cmp.Compare(a.Path, b.Path) })
	for i, module := range sorted {
		id := fmt.Sprintf("SPDXRef-module-%d", i+1)
		document.Packages = append(document.Packages, modulePackage(id, module, ""))
		document.Relationships = append(document.Relationships, spdxRelationship{imageElement, "CONTAINS", id})
	}
	for i := range document.Packages {
		p := &document.Packages[i]
		p.DownloadLocation, p.LicenseConcluded, p.CopyrightText = noAssertion, noAssertion, noAssertion
		p.LicenseDeclared = cmp.Or(p.LicenseDeclared, noAssertion)
	}
	data, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the SBOM of %s: %w", program.Name, err)
	}
	return append(data, '\n'), nil
}

// modulePackage describes a Go module.
func modulePackage(id string, module *debug.Module, license string) spdxPackage {
	p := spdxPackage{
		SPDXID: id, Name: module.Path, VersionInfo: module.Version, LicenseDeclared: license,
		ExternalRefs: []spdxExternalRef{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + module.Path + "@" + module.Version}},
	}
	if module.Sum != "" {
		p.SourceInfo = "hash of the Go module: " + module.Sum
	}
	return p
}
