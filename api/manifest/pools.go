package manifest

import (
	"maps"
	"slices"
	"strings"

	"github.com/muster-sh/muster/api/v1alpha1"
)

func readPools(sources []source) (*Pools, error) {
	var out Pools
	var errs Errors
	names := places{}
	pools := make([]object, 0, 8)
	for _, s := range sources {
		objects, problems := s.objects()
		errs = append(errs, problems...)
		for _, o := range objects {
			problems := out.add(o)
			errs = append(append(errs, problems...), names.add(o)...)
			if o.kind == "NodePool" && len(problems) == 0 {
				pools = append(pools, o)
			}
		}
	}
	if len(errs) == 0 {
		errs = append(errs, out.checkProviders(pools)...)
	}
	if len(errs) == 0 && len(out.Pools) == 0 {
		errs = append(errs, Error{File: fileNames(sources), Problem: "no NodePool in it"})
	}
	if err := errs.orNil(sources); err != nil {
		return nil, err
	}
	return &out, nil
}

func (p *Pools) add(o object) Errors {
	if o.group() != v1alpha1.GroupVersion.Group || !slices.Contains([]string{"NodePool", "Provider", "Host"}, o.kind) {
		return Errors{o.problem("kind", "%s %s is not read here: a pools file holds NodePool, Provider and Host of %s",
			o.apiVersion, o.kind, v1alpha1.GroupVersion)}
	}
	if err, ok := wrongVersion(o, v1alpha1.GroupVersion.String()); ok {
		return Errors{err}
	}
	switch o.kind {
	case "NodePool":
		return collect(o, &p.Pools)
	case "Provider":
		return collect(o, &p.Providers)
	default:
		return collect(o, &p.Hosts)
	}
}

// collect decodes one of Muster's own objects and appends it.
func collect[T any](o object, to *[]*T) Errors {
	decoded, errs := decodeOurs[T](o)
	if len(errs) > 0 {
		return errs
	}
	*to = append(*to, decoded)
	return nil
}

// checkProviders reports pools whose provider is not there, or is of another kind than they need, once the files define
// any provider.
func (p *Pools) checkProviders(pools []object) Errors {
	if len(p.Providers) == 0 {
		return nil
	}
	types := make(map[string]v1alpha1.ProviderType, len(p.Providers))
	for _, one := range p.Providers {
		types[one.Name] = one.Spec.Type
	}
	var errs Errors
	for i, o := range pools {
		name := p.Pools[i].Spec.Provider
		kind, found := types[name]
		switch {
		case !found:
			errs = append(errs, o.problem("spec.provider", "Not found: %q: the Providers in these files are %s",
				name, strings.Join(slices.Sorted(maps.Keys(types)), ", ")))
		case p.Pools[i].Spec.Template.Hosts != nil && !kind.PowersHosts():
			errs = append(errs, o.problem("spec.template.hosts", "Invalid: Provider %s of type %s powers no Hosts: redfish, ipmi and wol do",
				name, kind))
		}
	}
	return errs
}

func fileNames(sources []source) string {
	names := make([]string, 0, len(sources))
	for _, s := range sources {
		names = append(names, s.file)
	}
	return strings.Join(names, ", ")
}
