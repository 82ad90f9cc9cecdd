// SPDX-License-Identifier: Apache-2.0

// Command sbom writes the modules of a Go binary as a CycloneDX document. It reads the list that the linker put into
// the binary, so it lists what was built, and nothing else. The same binary gives the same bytes.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	version := flag.String("version", "", "version of the binary")
	out := flag.String("o", "", "path of the document")
	flag.Parse()
	if err := run(*version, *out, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(version, out, binary string) error {
	if version == "" || out == "" || binary == "" {
		return errors.New("usage: sbom -version VERSION -o DOCUMENT BINARY")
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("reading the build information of %s: %w", binary, err)
	}
	digest, err := sum(binary)
	if err != nil {
		return err
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	encoder := cdx.NewBOMEncoder(f, cdx.BOMFileFormatJSON).SetPretty(true)
	return errors.Join(encoder.Encode(document(info, version, digest)), f.Close())
}

// document lists the modules of a binary, and the Go version, as components of it.
func document(info *debug.BuildInfo, version, digest string) *cdx.BOM {
	main := cdx.Component{BOMRef: purl(info.Main.Path, version), Type: cdx.ComponentTypeApplication,
		Name: info.Main.Path, Version: version,
		PackageURL: purl(info.Main.Path, version), Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: digest}},
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}}
	components := []cdx.Component{module("std", info.GoVersion)}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		components = append(components, module(m.Path, m.Version))
	}
	var refs []string
	for _, c := range components {
		refs = append(refs, c.BOMRef)
	}
	bom := cdx.NewBOM() // without a serial number and a time, which would differ in every build
	bom.Metadata = &cdx.Metadata{Component: &main}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return bom
}

func module(path, version string) cdx.Component {
	return cdx.Component{BOMRef: purl(path, version), Type: cdx.ComponentTypeLibrary, Name: path, Version: version,
		PackageURL: purl(path, version)}
}

// purl is the package URL of a module.
func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }

func sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
