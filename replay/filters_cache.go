package replay

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/capacity"
)

func (f *filters) seeNode(c change, n *corev1.Node, now time.Time) {
	f.now, f.sim = now, nil
	if c.gone() {
		delete(f.nodes, n.Name)
		if f.cache != nil {
			f.cache.ForgetNode(n.Name)
		}
		return
	}
	f.nodes[n.Name] = n
	if f.cache != nil {
		f.cache.SetNode(n, now)
	}
}

// seePod takes in a pod that is on a node. That an assumed pod is bound is no news.
func (f *filters) seePod(c change, p *corev1.Pod, now time.Time) {
	f.now = now
	f.leave(p.UID)
	was := f.placed[p.UID]
	if c.gone() || finished(p) {
		delete(f.placed, p.UID)
		f.sim = nil
		if f.cache != nil {
			f.cache.ForgetPod(p.UID)
		}
		return
	}
	f.placed[p.UID] = p
	if was == nil || was.Spec.NodeName != p.Spec.NodeName {
		f.sim = nil
	}
	f.take(p)
}

// wait takes in a pod that waits for a node.
func (f *filters) wait(p *corev1.Pod, now time.Time) {
	f.now = now
	f.leave(p.UID)
	f.waiting[p.UID] = p
	if node := p.Status.NominatedNodeName; node != "" {
		if f.nominated[node] == nil {
			f.nominated[node] = sets.New[types.UID]()
		}
		f.nominated[node].Insert(p.UID)
	}
	f.take(p)
}

// forget is for a pod that was never bound and is gone, also one that was assumed to be somewhere (ForgetPod).
func (f *filters) forget(uid types.UID) {
	f.leave(uid)
	delete(f.placed, uid)
	if f.cache != nil {
		f.sim = nil
		f.cache.ForgetPod(uid)
	}
}

func (f *filters) leave(uid types.UID) {
	old := f.waiting[uid]
	if old == nil {
		return
	}
	delete(f.waiting, uid)
	if node := old.Status.NominatedNodeName; node != "" {
		if f.nominated[node].Delete(uid); f.nominated[node].Len() == 0 {
			delete(f.nominated, node)
		}
	}
}

// assume counts a pod on the node that was chosen for it, before anybody sees it bound (Cache.AssumePod).
func (f *filters) assume(p *corev1.Pod, node string) {
	f.leave(p.UID)
	on := *p
	on.Spec.NodeName = node
	f.placed[p.UID] = &on
	if f.cache == nil {
		return
	}
	if f.sim != nil {
		if place := f.sim.On(node); place != nil {
			f.sim.Put(f.sim.Class(f.cache.Pod(p.UID)), place, 1)
		}
	}
	f.take(&on)
}

// take brings a pod's newest version into the cache, which is made when the first rule comes.
func (f *filters) take(p *corev1.Pod) {
	switch {
	case f.cache != nil:
		f.set(p)
	case ruled(p):
		f.build()
	}
}

// build makes the cache of all that is known.
func (f *filters) build() {
	f.sim = nil
	f.cache = capacity.NewLive(capacity.Schedulers{Place: sets.New(Scheduler)})
	for _, n := range f.spaces {
		f.cache.SetNamespace(n)
	}
	for _, o := range f.fixed {
		f.cache.SetStorage(o)
	}
	for _, name := range sortedKeys(f.nodes) {
		f.cache.SetNode(f.nodes[name], f.now)
	}
	for _, known := range []map[types.UID]*corev1.Pod{f.placed, f.waiting} {
		for _, uid := range sortedKeys(known) {
			f.set(known[uid])
		}
	}
}

// set keeps a nominated node out of the cache: upstream counts such a pod for some and not for others, see judge.
func (f *filters) set(p *corev1.Pod) {
	known := f.cache.Pod(p.UID) != nil
	if p.Status.NominatedNodeName != "" {
		q := *p
		q.Status.NominatedNodeName = ""
		p = &q
	}
	f.cache.SetPod(p, f.now)
	if !known && p.Spec.NodeName == "" && ruled(p) {
		f.cache.Want(p.UID, f.now) // its rules are to be counted by
		f.sim = nil
	}
}
