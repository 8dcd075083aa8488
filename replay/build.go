package replay

import (
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/provider/sim"
)

// build connects the parts. Who watches first, hears first.
func (w *World) build() error {
	o := &w.options
	w.api = newAPI(w.agenda, o.Seed)
	w.meter = newMeter(w.agenda, w.api)
	providers := withMissing(o.Providers, o.Pools)
	var err error
	w.backends, err = newBackends(providers, o, w.Now, w.meter.saw)
	if err != nil {
		return err
	}
	w.pods = newPods(w.agenda, w.api, *o.Delays)
	w.pods.moved = w.podMoved
	w.machines = newMachines(w.agenda, w.api, *o.Delays, w.backends.clouds())
	w.machines.joins = func(m sim.Machine) { w.meter.saw(m.Machine) }
	w.machines.gone = w.meter.gone
	client := &extenderClient{handler: func() http.Handler {
		if w.muster == nil {
			return nil
		}
		return w.muster.handler
	}}
	w.scheduler = newScheduler(w.agenda, w.api, client, o)
	w.kube = &kube{api: w.api, evict: w.pods.evict, record: w.event}
	w.api.watch(0, w.note)
	if o.Observe != nil {
		w.api.watch(0, func(c change) { o.Observe(c.object(), c.gone()) })
	}
	if t := o.Timeline; t != nil {
		w.api.watch(0, func(c change) { t.see(c, w.agenda.now.Sub(Zero)) })
	}
	for _, p := range providers {
		p = p.DeepCopy()
		w.api.stamp(p)
		w.api.providers[p.Name] = p
		w.api.publish(change{fresh: p})
	}
	for _, p := range o.Pools {
		p = p.DeepCopy()
		w.api.stamp(p)
		w.api.pools[p.Name] = p
		w.api.publish(change{fresh: p})
	}
	return nil
}

// withMissing adds a simulated Provider for every name that pools use and nobody defines.
func withMissing(providers []*v1alpha1.Provider, pools []*v1alpha1.NodePool) []*v1alpha1.Provider {
	all := slices.Clone(providers)
	for _, pool := range pools {
		if !slices.ContainsFunc(all, func(p *v1alpha1.Provider) bool { return p.Name == pool.Spec.Provider }) {
			all = append(all, &v1alpha1.Provider{
				ObjectMeta: metav1.ObjectMeta{Name: pool.Spec.Provider}, Spec: v1alpha1.ProviderSpec{Type: v1alpha1.ProviderSim},
			})
		}
	}
	return all
}

// populate creates what exists already.
func (w *World) populate() {
	o := &w.options
	w.api.classes, w.api.spaces, w.api.storage = o.DeviceClasses, o.Namespaces, o.Storage
	for _, set := range o.DaemonSets {
		set = set.DeepCopy()
		w.api.stamp(set)
		w.api.daemons = append(w.api.daemons, set)
		w.api.publish(change{fresh: set})
		w.pods.daemons = append(w.pods.daemons, &daemon{set: set, rule: capacity.NewDaemon(set)})
	}
	for _, p := range o.Pods { // before their nodes, whose DaemonSets look for the pods that they have there
		if p.Spec.NodeName != "" {
			w.api.createPod(p.DeepCopy())
		}
	}
	for _, n := range o.Nodes {
		w.api.createNode(n.DeepCopy())
	}
	for _, p := range o.Pods {
		if p.Spec.NodeName == "" {
			w.pods.arrive(Arrival{At: w.start.Sub(Zero), Pod: p})
		}
	}
}

func (w *World) newMuster(settle time.Duration) *muster {
	return newMuster(parts{
		agenda: w.agenda, api: w.api, kube: w.kube, backends: w.backends, delays: *w.options.Delays, log: w.options.Log,
		schedulers: capacity.Schedulers{Place: sets.New(Scheduler)}, settle: settle, decide: w.options.Decide,
		machines: func(string, int, int) {},
	}, *w.options.Batch)
}
