package extender

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// handedOver are the filters that place mode takes over; capacity.Fit is them.
var handedOver = []string{"NodeUnschedulable", "NodeAffinity", "TaintToleration", "NodeResourcesFit"}

// keptInTree are the default filters that Muster does not judge.
var keptInTree = []string{
	"NodeName", "NodePorts", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread",
	"InterPodAffinity", "DynamicResources",
}

const preemptionPlugin = "DefaultPreemption"

// profiles checks every profile: extenders are the process's, not a profile's.
func (c *configCheck) profiles() {
	profiles := c.config.Profiles
	if len(profiles) == 0 {
		profiles = []configv1.KubeSchedulerProfile{{}}
	}
	for i := range profiles {
		name := corev1.DefaultSchedulerName
		if profiles[i].SchedulerName != nil {
			name = *profiles[i].SchedulerName
		}
		p := profile{index: i, name: name, plugins: profiles[i].Plugins, percentage: profiles[i].PercentageOfNodesToScore}
		if p.plugins == nil {
			p.plugins = &configv1.Plugins{}
		}
		if len(c.place) > 0 {
			c.placeProfile(p)
		} else {
			c.otherProfile(p)
		}
	}
}

type profile struct {
	index      int
	name       string
	plugins    *configv1.Plugins
	percentage *int32
}

func (p profile) field(name string) string { return fmt.Sprintf("profiles[%d].%s", p.index, name) }

// placeProfile checks a profile whose pods /place is asked about.
func (c *configCheck) placeProfile(p profile) {
	if !c.names.Place.Has(p.name) {
		c.refuse(p.field("schedulerName"), quote(p.name), "one of --place-scheduler ("+list(c.names.Place)+")",
			"an extender entry holds for every profile of the process, so /place would answer for this one too")
	}
	for _, name := range handedOver {
		if enabledAt(p.plugins.Filter, p.plugins.MultiPoint, name) {
			c.refuse(p.field("plugins.filter"), name+" enabled", name+" among the disabled",
				"when it leaves no node the scheduler does not ask Muster, and no shortfall is ever seen")
		}
	}
	for _, name := range keptInTree {
		if !enabledAt(p.plugins.Filter, p.plugins.MultiPoint, name) {
			c.advise(p.field("plugins.filter"), name+" disabled", name+" enabled",
				"Muster does not judge what it judges, so nobody does")
		}
	}
	if enabledAt(p.plugins.PostFilter, p.plugins.MultiPoint, preemptionPlugin) {
		c.refuse(p.field("plugins.postFilter"), preemptionPlugin+" enabled", preemptionPlugin+" among the disabled",
			"it tries the filters that are left only, and kills pods on nodes where the pod does not fit")
	}
	c.fullCalls(p)
}

// fullCalls: with less than all nodes a call is a sample, and nothing follows from its refusal.
func (c *configCheck) fullCalls(p profile) {
	const why = "a call then offers a sample of the nodes, and a pod that fits elsewhere looks like a shortfall"
	field, percentage := "percentageOfNodesToScore", c.config.PercentageOfNodesToScore
	if p.percentage != nil {
		field, percentage = p.field(field), p.percentage
	}
	switch {
	case percentage == nil:
		c.refuse(field, "nothing (a share that shrinks with the cluster)", "100", why)
	case *percentage != 100:
		c.refuse(field, *percentage, "100", why)
	}
}

// otherProfile checks a profile of a scheduler that does not ask /place.
func (c *configCheck) otherProfile(p profile) {
	if c.names.Place.Has(p.name) {
		c.refuse("extenders", "no entry that ends in /place", "one", fmt.Sprintf("profile %q is a --place-scheduler", p.name))
	}
	for _, name := range handedOver {
		if !enabledAt(p.plugins.Filter, p.plugins.MultiPoint, name) {
			c.refuse(p.field("plugins.filter"), name+" disabled", name+" enabled, or an entry in extenders that ends in /place",
				"nobody checks what it checks")
		}
	}
	if len(c.guard) > 0 && !c.names.Guard.Has(p.name) {
		c.advise(p.field("schedulerName"), quote(p.name), "one of --guard-scheduler ("+list(c.names.Guard)+")",
			"nothing is bought for its pods")
	}
}

// enabledAt says whether a default plugin runs at an extension point, by the rules of kube-scheduler's
// mergePlugins and expandMultiPointPlugins: what is enabled by name wins over what is disabled; the point's own list wins
// over multiPoint; "*" disables all defaults.
func enabledAt(point, multiPoint configv1.PluginSet, name string) bool {
	switch {
	case has(point.Enabled, name):
		return true
	case has(point.Disabled, name), has(point.Disabled, "*"):
		return false
	case has(multiPoint.Enabled, name):
		return true
	}
	return !has(multiPoint.Disabled, name) && !has(multiPoint.Disabled, "*")
}

func has(plugins []configv1.Plugin, name string) bool {
	return slices.ContainsFunc(plugins, func(p configv1.Plugin) bool { return p.Name == name })
}

func list(names sets.Set[string]) string {
	if names.Len() == 0 {
		return "none given"
	}
	return strings.Join(sets.List(names), ", ")
}
