package manifest

import (
	"reflect"
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// strictError is how the strict decoder words the two mistakes it looks for.
var strictError = regexp.MustCompile(`^(unknown|duplicate) field (".*")$`)

// decode reads the object into one of the API's Go types, strictly.
func decode[T any](o object) (*T, Errors) {
	if errs := o.slow(reflect.TypeFor[T]()); len(errs) > 0 {
		return nil, errs
	}
	out := new(T)
	strict, err := kjson.UnmarshalStrict(o.raw, out)
	if err != nil {
		return nil, Errors{o.misfit(out, err)}
	}
	var errs Errors
	for _, one := range strict {
		m := strictError.FindStringSubmatch(one.Error())
		if m == nil {
			errs = append(errs, o.problem("", "%v", one))
			continue
		}
		path, err := strconv.Unquote(m[2])
		if err != nil {
			path = m[2]
		}
		if m[1] == "duplicate" {
			errs = append(errs, o.problem(path, "Duplicate field"))
		} else {
			errs = append(errs, o.unknownField(path, fieldsAt(out, path)))
		}
	}
	return out, errs
}

// decodeOurs reads an object of one of Muster's kinds: defaults filled in, schema and rules asked first.
func decodeOurs[T any](o object) (*T, Errors) {
	all, err := definitions()
	if err != nil { // the definitions are part of the program; their test would have failed
		return nil, Errors{{File: o.file, Problem: err.Error()}}
	}
	var content map[string]any
	if err := utiljson.Unmarshal(o.raw, &content); err != nil {
		return nil, Errors{o.problem("", "%v", err)}
	}
	if errs := append(o.slow(reflect.TypeFor[T]()), o.checkHeader()...); len(errs) > 0 {
		return nil, errs
	}
	if errs := all[o.kind].check(o, content); len(errs) > 0 {
		return nil, errs
	}
	if o.raw, err = utiljson.Marshal(content); err != nil {
		return nil, Errors{o.problem("", "%v", err)}
	}
	return decode[T](o)
}

// checkHeader judges what the schemas leave to the API server: metadata, and fields beside spec and status.
func (o object) checkHeader() Errors {
	header, errs := decode[struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              any `json:"spec"`
		Status            any `json:"status"`
	}](o)
	if len(errs) > 0 {
		return errs
	}
	return checkMeta(o, &header.ObjectMeta, false, validation.NameIsDNSSubdomain)
}

// checkMeta applies the API server's rules for metadata.
func checkMeta(o object, meta metav1.Object, namespaced bool, names validation.ValidateNameFunc) Errors {
	var errs Errors
	for _, e := range validation.ValidateObjectMetaAccessor(meta, namespaced, names, field.NewPath("metadata")) {
		errs = append(errs, o.problem(e.Field, "%s", e.ErrorBody()))
	}
	return errs
}
