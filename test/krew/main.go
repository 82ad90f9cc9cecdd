// SPDX-License-Identifier: Apache-2.0

// Command krew fills the template krew.yaml for a release: with its version, and with the digest of each archive from
// checksums.txt. It prints the manifest that is submitted to krew-index.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"strings"
	"text/template"
)

func main() {
	version := flag.String("version", "", "tag of the release")
	checksums := flag.String("checksums", "", "file with the SHA-256 digests of the archives, as sha256sum writes it")
	flag.Parse()
	manifest, err := run(flag.Arg(0), *version, *checksums)
	if err == nil {
		_, err = os.Stdout.Write(manifest)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "krew:", err)
		os.Exit(1)
	}
}

func run(templateFile, version, checksums string) ([]byte, error) {
	if templateFile == "" || version == "" || checksums == "" {
		return nil, errors.New("usage: krew -version TAG -checksums FILE TEMPLATE")
	}
	text, err := os.ReadFile(templateFile)
	if err != nil {
		return nil, err
	}
	list, err := os.ReadFile(checksums)
	if err != nil {
		return nil, err
	}
	digests := map[string]string{}
	for line := range strings.Lines(string(list)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			digests[strings.TrimPrefix(fields[1], "*")] = fields[0]
		}
	}
	return fill(string(text), version, func(archive string) (string, error) {
		if digest := digests[archive]; digest != "" {
			return digest, nil
		}
		return "", fmt.Errorf("%s does not list %s", checksums, archive)
	})
}

// fill executes the template. Its function addURIAndSha writes the same text as in krew-release-bot, including the
// fixed indent of the second line.
func fill(text, version string, digest func(archive string) (string, error)) ([]byte, error) {
	values := map[string]string{"TagName": version}
	tmpl, err := template.New("krew.yaml").Option("missingkey=error").
		Funcs(template.FuncMap{"addURIAndSha": func(uri, _ string) (string, error) {
			inner, err := template.New("uri").Parse(uri)
			if err != nil {
				return "", err
			}
			var out strings.Builder
			if err := inner.Execute(&out, values); err != nil {
				return "", err
			}
			sum, err := digest(path.Base(out.String()))
			return fmt.Sprintf("uri: %s\n    sha256: %s", &out, sum), err
		}}).Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = tmpl.Execute(&out, values)
	return out.Bytes(), err
}
