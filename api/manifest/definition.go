package manifest

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/muster-sh/muster/deploy/crds"
)

// definition judges objects of one of Muster's kinds as the API server does when they are created.
type definition struct {
	version    string // muster.sh/v1alpha1
	structural *schema.Structural
	validator  validation.SchemaCreateValidator
	rules      *cel.Validator
}

// definitions are Muster's kinds by name. They are compiled once, when the first is asked for.
var definitions = sync.OnceValues(func() (map[string]*definition, error) {
	files, err := fs.Glob(crds.Files, "*.yaml")
	if err != nil {
		return nil, err
	}
	all := make(map[string]*definition, len(files))
	for _, file := range files {
		kind, d, err := compile(file)
		if err != nil {
			return nil, fmt.Errorf("definition %s: %w", file, err)
		}
		all[kind] = d
	}
	return all, nil
})

func compile(file string) (kind string, d *definition, err error) {
	text, err := crds.Files.ReadFile(file)
	if err != nil {
		return "", nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return "", nil, err
	}
	version := crd.Spec.Versions[0]
	var props apiextensions.JSONSchemaProps
	err = apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &props, nil)
	if err != nil {
		return "", nil, err
	}
	structural, err := schema.NewStructural(&props)
	if err != nil {
		return "", nil, err
	}
	if err := defaulting.PruneDefaults(structural); err != nil {
		return "", nil, err
	}
	validator, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		return "", nil, err
	}
	return crd.Spec.Names.Kind, &definition{
		version:    crd.Spec.Group + "/" + version.Name,
		structural: structural,
		validator:  validator,
		rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}, nil
}

// check fills in defaults in content and reports unknown fields, values the schema refuses, and broken CEL rules; the
// rules are asked only when the schema is content, as the API server does.
func (d *definition) check(o object, content map[string]any) Errors {
	unknown := pruning.PruneWithOptions(content, d.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(content, d.structural)
	defaulting.Default(content, d.structural)

	var errs Errors
	for _, path := range unknown {
		errs = append(errs, o.unknownField(path, propertiesAt(d.structural, parent(path))))
	}
	broken := validation.ValidateCustomResource(nil, content, d.validator)
	broken = append(broken, listtype.ValidateListSetsAndMaps(nil, d.structural, content)...)
	if len(broken) == 0 {
		broken, _ = d.rules.Validate(context.Background(), nil, d.structural, content, nil, celconfig.RuntimeCELCostBudget)
	}
	for _, one := range broken {
		if isEcho(one) {
			continue
		}
		errs = append(errs, o.broken(one, d.structural))
	}
	return errs
}

// isEcho says whether an error repeats, without a path, that a value is neither of the two types of a quantity.
func isEcho(e *field.Error) bool {
	return e.Field == "<nil>" && (strings.Contains(e.Detail, "(anyOf)") || strings.HasPrefix(e.Detail, "Checked value must be of type"))
}

// broken words a field error of the API server's libraries: which value, and what would be accepted.
func (o object) broken(e *field.Error, root *schema.Structural) Error {
	path := e.Field
	if path == "<nil>" {
		path = ""
	}
	switch at := schemaAt(root, path); {
	case e.Type == field.ErrorTypeRequired && e.Detail == "" && at != nil:
		return o.problem(path, "Required value: %s", describe(at))
	case e.Type == field.ErrorTypeTypeInvalid && at != nil:
		return o.problem(path, "Invalid value: must be %s", describe(at))
	}
	short := *e
	short.Detail = strings.TrimPrefix(e.Detail, path+" in body ")
	if at := schemaAt(root, path); at != nil && strings.HasPrefix(short.Detail, "should match '") {
		short.Detail = "must be " + describe(at)
	}
	return o.problem(path, "%s", short.ErrorBody())
}
