// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
)

// bundleFileNames are the names of a fleet.yaml. The first one that exists is read.
var bundleFileNames = []string{"fleet.yaml", "fleet.yml"}

// bundleDirs returns the directories of which fleet apply makes bundles, in the order in which it walks them.
func bundleDirs(root *os.Root) ([]string, error) {
	var out []string
	n := 0
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if n++; err != nil || n > maxFiles {
			return errors.Join(err, tooMany(n))
		}
		if !d.IsDir() {
			return nil
		}
		if d.Name() == ".git" {
			return fs.SkipDir
		}
		is := hasBundleFile(root, name)
		if name == "." && !is {
			is, err = hasOtherManifest(root, name)
		}
		if is {
			out = append(out, name)
		}
		return err
	})
	return out, err
}

func tooMany(n int) error {
	if n > maxFiles {
		return errTooLarge
	}
	return nil
}

func hasBundleFile(root *os.Root, dir string) bool {
	return slices.ContainsFunc(bundleFileNames, func(name string) bool {
		_, err := root.Stat(path.Join(dir, name))
		return err == nil
	})
}

// hasOtherManifest reports whether a directory has a YAML file that is not in the directory of another fleet.yaml.
func hasOtherManifest(root *os.Root, dir string) (bool, error) {
	if hasBundleFile(root, dir) {
		return false, nil
	}
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		found := path.Ext(e.Name()) == ".yaml" || path.Ext(e.Name()) == ".yml"
		if e.IsDir() {
			if found, err = hasOtherManifest(root, path.Join(dir, e.Name())); err != nil {
				return false, err
			}
		}
		if found {
			return true, nil
		}
	}
	return false, nil
}
