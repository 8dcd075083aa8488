package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-sh/muster/api/manifest"
)

// policyRun is one policy of a replay: the pools it is made of, and what a sweep changed in them.
type policyRun struct {
	name     string
	settings map[string]string
	pools    *manifest.Pools
}

// maxPolicies is how many policies one replay compares at most.
const maxPolicies = 64

// readPolicies reads every --pools beside the policies that are there, and applies every --sweep.
func readPolicies(runs []policyRun, pools, sweeps []string) ([]policyRun, error) {
	for _, text := range pools {
		run, err := readPolicy(text)
		if err != nil {
			return nil, fmt.Errorf("read --pools: %w", err)
		}
		runs = append(runs, run)
	}
	if len(runs) == 1 && len(sweeps) > 0 {
		runs[0].name = "" // what differs is name enough
	}
	for _, text := range sweeps {
		var err error
		if runs, err = sweep(runs, text); err != nil {
			return nil, fmt.Errorf("--sweep %s: %w", text, err)
		}
	}
	seen := map[string]bool{}
	for _, run := range runs {
		if seen[run.name] {
			return nil, fmt.Errorf("--pools: two policies are called %q: give them names, as in --pools NAME=FILE", run.name)
		}
		seen[run.name] = true
	}
	return runs, nil
}

// readPolicy reads [NAME=]FILE[,FILE...]; without a name, the first file's.
func readPolicy(text string) (policyRun, error) {
	name, files, named := strings.Cut(text, "=")
	if !named {
		name, files = "", text
	}
	paths := strings.Split(files, ",")
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(paths[0]), filepath.Ext(paths[0]))
	}
	pools, err := manifest.ReadPools(paths...)
	return policyRun{name: name, pools: pools}, err
}

// sweep makes of every run one for each value of a field: FIELD=VALUE,VALUE...
func sweep(runs []policyRun, text string) ([]policyRun, error) {
	field, values, given := strings.Cut(text, "=")
	if !given || values == "" {
		return nil, errors.New("use FIELD=VALUE,VALUE, for example idleAfter=2m,10m,30m")
	}
	path, err := manifest.PoolField(field)
	if err != nil {
		return nil, err
	}
	list := strings.Split(values, ",")
	if len(runs)*len(list) > maxPolicies {
		return nil, fmt.Errorf("that makes %d policies: use at most %d", len(runs)*len(list), maxPolicies)
	}
	if slices.Contains(list, "") {
		return nil, errors.New("a value is empty")
	}
	var out []policyRun
	for _, run := range runs {
		for _, value := range list {
			pools, err := run.pools.Set(path, value)
			if err != nil {
				return nil, err
			}
			out = append(out, run.with(field, path, value, pools))
		}
	}
	return out, nil
}

// with is a run in which one more field was set.
func (r policyRun) with(field, path, value string, pools *manifest.Pools) policyRun {
	settings := map[string]string{path: value}
	maps.Copy(settings, r.settings)
	return policyRun{name: strings.TrimSpace(r.name + " " + field + "=" + value), settings: settings, pools: pools}
}
