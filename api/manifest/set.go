package manifest

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// PoolField is the path of the NodePool's field that name means: a path such as spec.scaleDown.idleAfter, or the last
// word of one where no other field under spec ends alike. Fields in lists and maps have no such name.
func PoolField(name string) (string, error) {
	all, err := definitions()
	if err != nil {
		return "", err
	}
	spec := all["NodePool"].structural.Properties["spec"]
	paths := scalars(&spec, "spec")
	var found []string
	for _, path := range paths {
		if path == name || path == "spec."+name || strings.HasSuffix(path, "."+name) {
			found = append(found, path)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("%q may mean %s: use the whole path", name, strings.Join(found, " or "))
	}
	words := make([]string, 0, len(paths))
	for _, path := range paths {
		words = append(words, path[strings.LastIndexByte(path, '.')+1:])
	}
	if near := nearest(name, words); near != "" {
		return "", fmt.Errorf("no field of a NodePool is called %q: did you mean %s?", name, near)
	}
	return "", fmt.Errorf("no field of a NodePool is called %q: use one of %s", name, strings.Join(paths, ", "))
}

// scalars are the paths of all plain values below a schema, sorted.
func scalars(s *schema.Structural, path string) []string {
	var paths []string
	for name, below := range s.Properties {
		at := path + "." + name
		switch {
		case below.Type == "object":
			paths = append(paths, scalars(&below, at)...)
		case below.Type != "array":
			paths = append(paths, at)
		}
	}
	slices.Sort(paths)
	return paths
}

// Set is a copy of the pools in which the field at path has a value, written as in YAML. It is judged as if it had been
// read so.
func (p *Pools) Set(path, value string) (*Pools, error) {
	out := &Pools{Providers: p.Providers, Hosts: p.Hosts}
	var to any
	if err := yaml.Unmarshal([]byte(value), &to); err != nil {
		return nil, fmt.Errorf("%s: %q is not a value: %w", path, value, err)
	}
	for _, pool := range p.Pools {
		o, err := objectWith(pool, path, to)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", path, value, err)
		}
		if errs := collect(o, &out.Pools); len(errs) > 0 {
			for i := range errs {
				errs[i].File, errs[i].Line = path+"="+value, 0
			}
			return nil, errs
		}
	}
	return out, nil
}

func objectWith(pool *v1alpha1.NodePool, path string, value any) (object, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pool)
	if err != nil {
		return object{}, err
	}
	delete(content, "status")
	content["apiVersion"], content["kind"] = v1alpha1.GroupVersion.String(), "NodePool"
	if n, ok := value.(int); ok {
		value = int64(n)
	}
	if err := unstructured.SetNestedField(content, value, strings.Split(path, ".")...); err != nil {
		return object{}, err
	}
	raw, err := utiljson.Marshal(content)
	if err != nil {
		return object{}, err
	}
	o, errs := newObject("", raw, &place{text: raw})
	return o, errs.orNil(nil)
}
