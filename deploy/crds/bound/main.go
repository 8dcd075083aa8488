// Command bound narrows every quantity in the generated CustomResourceDefinitions; controller-gen has no marker for the
// values of a map. A maximal length, since without one the API server estimates each CEL rule over resources at several
// megabytes a value and refuses the definition. An exponent of at most two digits, since 1e-10000000 keeps whoever reads
// it busy for seconds: the API server while it judges the object, and Muster's watch for good once it were stored.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// Enough for every quantity that fits 64 bits, in any spelling people write.
const (
	quantityLength  = 32
	quantityPattern = `^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,2})?$`
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bound:", err)
		os.Exit(1)
	}
}

// run rewrites every *.yaml definition of the folder that args name.
func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: bound FOLDER")
	}
	files, err := filepath.Glob(filepath.Join(args[0], "muster.sh_*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no definitions in %s", args[0])
	}
	for _, file := range files {
		if err := rewrite(file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func rewrite(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var definition map[string]any
	if err := yaml.UnmarshalStrict(text, &definition); err != nil {
		return err
	}
	bound(definition)
	text, err = yaml.Marshal(definition)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte("---\n"), text...), 0o644)
}

// bound walks v and narrows every x-kubernetes-int-or-string that has a pattern: that is a quantity.
func bound(v any) {
	switch v := v.(type) {
	case map[string]any:
		if v["x-kubernetes-int-or-string"] == true && v["pattern"] != nil {
			v["maxLength"], v["pattern"] = quantityLength, quantityPattern
		}
		for _, child := range v {
			bound(child)
		}
	case []any:
		for _, child := range v {
			bound(child)
		}
	}
}
