package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Facts are what a template in a label or annotation may name, for example "{{.Host}}".
type Facts struct {
	Pool, Provider, Shape, Claim, Machine, Host, Rack, Zone string
}

// FactsOf returns the facts of a claim.
func FactsOf(c *v1alpha1.NodeClaim) Facts {
	return Facts{Pool: c.Spec.Pool, Provider: c.Spec.Provider, Shape: c.Spec.Shape, Claim: c.Name, Machine: c.Status.MachineID,
		Host: c.Status.Host, Rack: c.Status.Rack, Zone: c.Status.Zone}
}

// Fill fills one value in. Without "{{" a value is taken as it is.
func Fill(value string, facts Facts) (string, error) {
	if !strings.Contains(value, "{{") {
		return value, nil
	}
	t, err := template.New("value").Parse(value)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := t.Execute(&out, facts); err != nil {
		return "", err
	}
	return out.String(), nil
}

// filled fills values in and names, in the order of the keys, those that cannot be used.
func filled(kind string, values map[string]string, c *v1alpha1.NodeClaim) (map[string]string, []string) {
	out, facts := make(map[string]string, len(values)), FactsOf(c)
	var bad []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value, err := Fill(values[key], facts)
		if err == nil {
			err = usable(kind, key, value)
		}
		if err != nil {
			bad = append(bad, fmt.Sprintf("%s %s: %v", kind, key, err))
			continue
		}
		out[key] = value
	}
	return out, bad
}

// Unfillable names the labels and annotations of a pool that no machine could fill in, whatever it turns out to be: nodes would
// come without them.
func Unfillable(pool *v1alpha1.NodePool) (bad []string) {
	anyone := &v1alpha1.NodeClaim{Spec: v1alpha1.NodeClaimSpec{Pool: pool.Name, Provider: pool.Spec.Provider, Shape: "shape"}}
	anyone.Name, anyone.Status.MachineID, anyone.Status.Host, anyone.Status.Rack, anyone.Status.Zone = pool.Name+"-000", "1", "host", "rack", "zone"
	look := func(kind string, values map[string]string) {
		_, found := filled(kind, values, anyone)
		bad = append(bad, found...)
	}
	look("label", pool.Spec.Template.Labels)
	for i := range pool.Spec.Template.Shapes {
		look("label", pool.Spec.Template.Shapes[i].Labels)
	}
	look("annotation", pool.Spec.Template.Annotations)
	return bad
}

// usable asks what the API server would ask: one bad label would have the whole Node refused.
func usable(kind, key, value string) error {
	problems := validation.IsQualifiedName(key)
	if kind == "label" {
		problems = append(problems, validation.IsValidLabelValue(value)...)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%q: %s", value, strings.Join(problems, ", "))
	}
	return nil
}
