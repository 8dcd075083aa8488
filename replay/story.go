package replay

import (
	_ "embed" // the story's files
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/muster-sh/muster/api/v1alpha1"
)

var (
	//go:embed story/pools.yaml
	storyPools string
	//go:embed story/load.yaml
	storyLoad string
)

// Story is the world of `muster demo` before its first moment: two pools without a node, and a load that comes and goes.
func Story(seed int64) (Options, error) {
	o := Options{Seed: seed}
	var start time.Duration
	o.Start = &start
	for _, doc := range documents(storyPools) {
		if err := o.addPools(doc); err != nil {
			return Options{}, fmt.Errorf("story/pools.yaml: %w", err)
		}
	}
	var w workloads
	for _, doc := range documents(storyLoad) {
		if err := w.add(doc); err != nil {
			return Options{}, fmt.Errorf("story/load.yaml: %w", err)
		}
	}
	o.DaemonSets, o.Load = w.daemons, w.load()
	return o, nil
}

func documents(text string) []string { return strings.Split(text, "\n---\n") }

func kindOf(doc string) (string, error) {
	var head struct{ Kind string }
	err := yaml.Unmarshal([]byte(doc), &head)
	return head.Kind, err
}

func (o *Options) addPools(doc string) error {
	kind, err := kindOf(doc)
	if err != nil {
		return err
	}
	switch kind {
	case "NodePool":
		p := new(v1alpha1.NodePool)
		o.Pools = append(o.Pools, p)
		return yaml.UnmarshalStrict([]byte(doc), p)
	case "Provider":
		p := new(v1alpha1.Provider)
		o.Providers = append(o.Providers, p)
		return yaml.UnmarshalStrict([]byte(doc), p)
	}
	return fmt.Errorf("kind %q is not read here", kind)
}
