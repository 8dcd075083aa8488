package main

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/muster-sh/muster/capacity/kube"
)

// identify learns which cluster this is, before anything is asked of a provider: machines are marked with it. It returns
// false when ctx ends first.
func (p *program) identify(ctx context.Context, cs kubernetes.Interface) bool {
	for {
		uid, err := kube.Identity(ctx, cs)
		if err == nil {
			p.loops.Claims.Cluster, p.loops.Providers.Keeper.Cluster, p.loops.Claims.Gate.Cluster = uid, uid, uid
			p.log.Info("cluster", "identity", uid)
			return true
		}
		p.log.Warn("not ready", "reason", err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(time.Second):
		}
	}
}
