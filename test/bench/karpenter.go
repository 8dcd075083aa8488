package bench

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	cloud "sigs.k8s.io/karpenter/pkg/cloudprovider/fake"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/test"
)

func init() { log.SetLogger(logging.NopLogger) }

// Karpenter tries a pod on so many machines at once. What it takes does not depend on it; on one core each further worker
// is work for nothing. Its own benchmark sets five, the controller one for each core that it asks for.
const (
	itsBenchmark = 5
	oneCore      = 1
)

// karpenter solves the pods with a new scheduler, in a cluster without nodes. Only Solve is timed, as in Karpenter's own
// benchmark: its topology is counted before.
func (m *market) karpenter(pods []*corev1.Pod, workers int) (answer, error) {
	ctx := options.ToContext(context.Background(), test.Options())
	pool := test.NodePool(v1.NodePool{Spec: v1.NodePoolSpec{Limits: v1.Limits{
		corev1.ResourceCPU: resource.MustParse("10000000"), corev1.ResourceMemory: resource.MustParse("10000000Gi"),
	}}})
	provider := cloud.NewCloudProvider()
	provider.InstanceTypes = m.types
	client, wall := fake.NewFakeClient(), clock.RealClock{}
	cluster := state.NewCluster(wall, client, provider)
	pools, types := []*v1.NodePool{pool}, map[string][]*cloudprovider.InstanceType{pool.Name: m.types}
	topology, err := scheduling.NewTopology(ctx, client, cluster, nil, pools, types, pods)
	if err != nil {
		return answer{}, fmt.Errorf("count the topology: %w", err)
	}
	scheduler := scheduling.NewScheduler(ctx, client, pools, cluster, nil, topology, types, nil,
		events.NewRecorder(&record.FakeRecorder{}), wall, nil, nil, scheduling.NumConcurrentReconciles(workers))
	elapsed := stopwatch()
	results, err := scheduler.Solve(ctx, pods)
	a := answer{took: elapsed(), unserved: len(results.PodErrors)}
	if err != nil {
		return a, fmt.Errorf("solve: %w", err)
	}
	for _, claim := range results.NewNodeClaims {
		a.machines = append(a.machines, launched(claim))
	}
	return a, nil
}

// launched is the machine that a provider would make of a claim: the cheapest type that is left, in the first zone in
// which it is offered; a claim may leave the zone open.
func launched(claim *scheduling.NodeClaim) machine {
	bought, least := machine{pods: claim.Pods}, 0.0
	for _, it := range claim.InstanceTypeOptions {
		for _, o := range it.Offerings.Available().Compatible(claim.Requirements) {
			zone := o.Requirements.Get(corev1.LabelTopologyZone).Any()
			cheaper := bought.shape == "" || o.Price < least
			if cheaper || o.Price == least && slices.Index(zones, zone) < slices.Index(zones, bought.zone) {
				bought.shape, bought.zone, least = it.Name, zone, o.Price
			}
		}
	}
	return bought
}
