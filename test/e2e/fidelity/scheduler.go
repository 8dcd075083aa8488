package fidelity

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// filters are the default profile's filter plugins that Muster's Simulation stands for, in its order. Left out are
// DynamicResources and NodeDeclaredFeatures, which it does not judge.
var filters = []string{
	names.NodeUnschedulable, names.NodeName, names.TaintToleration, names.NodeAffinity, names.NodePorts,
	names.NodeResourcesFit, names.VolumeRestrictions, names.NodeVolumeLimits, names.VolumeBinding, names.VolumeZone,
	names.PodTopologySpread, names.InterPodAffinity,
}

// scheduler is kube-scheduler's framework with the filter plugins of the default profile, compiled from its own module.
type scheduler struct {
	framework framework.Framework
	snapshot  *snapshot
	informers informers.SharedInformerFactory
	binder    *binder
}

// snapshot is what the plugins see; each cluster has its own.
type snapshot struct{ *cache.Snapshot }

func newScheduler(ctx context.Context) (*scheduler, error) {
	metrics.InitMetrics()
	defaults, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("read the default configuration: %w", err)
	}
	client := fake.NewClientset()
	s := &scheduler{snapshot: &snapshot{cache.NewEmptySnapshot()}, informers: informers.NewSharedInformerFactory(client, 0)}
	csiNodes := nodevolumelimits.NewCSIManager(s.informers.Storage().V1().CSINodes().Lister())
	s.framework, err = runtime.NewFramework(ctx, s.registry(), profile(defaults.Profiles[0].PluginConfig),
		runtime.WithSnapshotSharedLister(s.snapshot), runtime.WithInformerFactory(s.informers), runtime.WithClientSet(client),
		runtime.WithSharedCSIManager(csiNodes), runtime.WithParallelism(1))
	if err != nil {
		return nil, fmt.Errorf("build the scheduler's framework: %w", err)
	}
	return s, nil
}

// registry has the in-tree plugins, and keeps the one that assumes bindings of volumes.
func (s *scheduler) registry() runtime.Registry {
	all := plugins.NewInTreeRegistry()
	make := all[names.VolumeBinding]
	all[names.VolumeBinding] = func(ctx context.Context, args k8sruntime.Object, h fwk.Handle) (fwk.Plugin, error) {
		p, err := make(ctx, args, h)
		if vb, ok := p.(*volumebinding.VolumeBinding); ok {
			s.binder = &binder{vb, map[*corev1.Pod]fwk.CycleState{}}
		}
		return p, err
	}
	return all
}

func profile(args []config.PluginConfig) *config.KubeSchedulerProfile {
	p := &config.KubeSchedulerProfile{SchedulerName: "default-scheduler", Plugins: &config.Plugins{}}
	for _, name := range filters {
		p.Plugins.PreFilter.Enabled = append(p.Plugins.PreFilter.Enabled, config.Plugin{Name: name})
		p.Plugins.Filter.Enabled = append(p.Plugins.Filter.Enabled, config.Plugin{Name: name})
	}
	noPreFilter := []string{names.NodeUnschedulable, names.NodeName, names.TaintToleration}
	p.Plugins.PreFilter.Enabled = slices.DeleteFunc(p.Plugins.PreFilter.Enabled, func(e config.Plugin) bool {
		return slices.Contains(noPreFilter, e.Name)
	})
	p.Plugins.QueueSort.Enabled = []config.Plugin{{Name: names.PrioritySort}}
	p.Plugins.Bind.Enabled = []config.Plugin{{Name: names.DefaultBinder}}
	for _, a := range args {
		if slices.Contains(filters, a.Name) {
			p.PluginConfig = append(p.PluginConfig, a)
		}
	}
	return p
}

// answer is what a filter says of one pod and one node.
type answer struct {
	fits bool
	// plugin is the first Filter that refused; empty where a PreFilter refused before any Filter was asked.
	plugin string
	// resolvable says whether pods that leave could make the node fit.
	resolvable bool
	// failed says that the plugin itself does.
	failed bool
	text   string
}

// load shows the plugins another cluster.
func (s *scheduler) load(ctx context.Context, c *cluster) error {
	if err := s.loadStorage(c); err != nil {
		return err
	}
	s.look(c)
	namespaces := s.informers.Core().V1().Namespaces().Informer().GetIndexer()
	objects := make([]any, 0, len(c.namespaces))
	for _, n := range c.namespaces {
		objects = append(objects, n)
	}
	if err := namespaces.Replace(objects, ""); err != nil {
		return err
	}
	clear(s.binder.states)
	for _, p := range c.assumed() {
		if n, err := s.snapshot.Get(p.Status.NominatedNodeName); err == nil && len(p.Spec.Volumes) > 0 {
			s.binder.send(ctx, p, n)
		}
	}
	return nil
}

// look takes the snapshot that a scheduling cycle begins with.
func (s *scheduler) look(c *cluster) { s.snapshot.Snapshot = cache.NewSnapshot(c.placed(), c.nodes) }

// filter asks about one pod and every node, as a scheduling cycle does.
func (s *scheduler) filter(ctx context.Context, pod *corev1.Pod) (map[string]answer, error) {
	state := framework.NewCycleState()
	nodes, err := s.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	answers := make(map[string]answer, len(nodes))
	within, status, _ := s.framework.RunPreFilterPlugins(ctx, state, pod)
	for _, n := range nodes {
		name := n.Node().Name
		switch {
		case !status.IsSuccess():
			answers[name] = answer{text: status.Message()}
		case !within.AllNodes() && !within.NodeNames.Has(name):
			answers[name] = answer{text: "left out by a PreFilter"}
		default:
			answers[name] = refused(s.framework.RunFilterPlugins(ctx, state, pod, n))
		}
	}
	return answers, nil
}

func refused(status *fwk.Status) answer {
	if status.IsSuccess() {
		return answer{fits: true}
	}
	return answer{plugin: status.Plugin(), resolvable: status.Code() == fwk.Unschedulable, failed: status.Code() == fwk.Error, text: status.Message()}
}
