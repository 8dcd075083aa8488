package v1alpha1

import corev1 "k8s.io/api/core/v1"

// Marks that Muster leaves in the cluster. They are part of the API: other tools may read them.
const (
	// PoolLabel names the NodePool of a Node or NodeClaim.
	PoolLabel = "muster.sh/pool"
	// ClaimLabel names the NodeClaim of a Node.
	ClaimLabel = "muster.sh/claim"
	// ShapeLabel names the shape a Node was made from.
	ShapeLabel = "muster.sh/shape"

	// StartingTaint is on a Node of ours from registration until it is initialized.
	StartingTaint = "muster.sh/starting"
	// ReleasingTaint is on a Node of ours from the moment it is closed until it is gone or reopened.
	ReleasingTaint = "muster.sh/releasing"

	// CordonedAnnotation on a Node says that Muster set spec.unschedulable, so that only our cordon is undone.
	CordonedAnnotation = "muster.sh/cordoned"

	// RegisteredAnnotation on a Node holds the UID of the claim that put its labels, annotations and taints on. It makes
	// that happen once for each Node object: startup taints that were taken off stay off.
	RegisteredAnnotation = "muster.sh/registered"

	// ProviderAnnotation on a Node names the Provider that made its machine: only that one can prove that the machine is gone.
	ProviderAnnotation = "muster.sh/provider"

	// DoNotReleaseAnnotation on a NodeClaim or its Node, set to "true", keeps the machine; on a Pod, the pod where it is.
	DoNotReleaseAnnotation = "muster.sh/do-not-release"

	// ScaleDownDisabledAnnotation (cluster-autoscaler's) and DoNotDisruptAnnotation (Karpenter's) on a Node, set to "true",
	// keep the machine too, and DoNotDisruptAnnotation on a Pod the pod where it is: whoever comes from there has them.
	ScaleDownDisabledAnnotation = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	DoNotDisruptAnnotation      = "karpenter.sh/do-not-disrupt"

	// SafeToEvictAnnotation (cluster-autoscaler's) on a Pod, set to "false", keeps the pod where it is; set to "true", it lets
	// a pod go that no controller would make again or that wrote to its node's disk. SafeLocalVolumesAnnotation
	// lists the volumes of a Pod, separated by commas, that are safe to lose.
	SafeToEvictAnnotation      = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	SafeLocalVolumesAnnotation = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"

	// ConfirmGoneAnnotation on a NodeClaim is a person's word that its machine is gone: "<machine id>/<attempt> <user>". It is good for
	// one act, and for this machine of this attempt only. `muster confirm-gone` sets it.
	ConfirmGoneAnnotation = "muster.sh/confirm-gone"

	// ForgetShapesAnnotation on a NodePool, set to a value it did not have before, has the pool forget what its nodes turned out to
	// offer. Nodes that registered before that are no evidence any more.
	ForgetShapesAnnotation = "muster.sh/forget-shapes"
	// ReturnHostAnnotation on a Host, set to a value it did not have before, returns the host from quarantine.
	ReturnHostAnnotation = "muster.sh/return-host"

	// ClaimFinalizer keeps a NodeClaim until its machine is proven gone.
	ClaimFinalizer = "muster.sh/machine"
	// HostFinalizer keeps a Host while a claim has it or Muster has its power on.
	HostFinalizer = "muster.sh/host"
	// ProviderFinalizer keeps a Provider while a claim, a host or a known machine needs it.
	ProviderFinalizer = "muster.sh/provider"
	// PoolFinalizer keeps a NodePool until its nodes are released or kept as plain nodes.
	PoolFinalizer = "muster.sh/pool"

	// KeepNodesAnnotation on a NodePool, set to "true", keeps the pool's nodes as plain nodes when the pool is deleted.
	KeepNodesAnnotation = "muster.sh/keep-nodes"
	// KeepNodeAnnotation on a NodeClaim, set to "true" by Muster, has the claim go and its node and machine stay. The machine is
	// listed in status.keptMachines of its Provider before that.
	KeepNodeAnnotation = "muster.sh/keep-node"

	// ConditionDeleting on a NodePool, Provider or Host is True while it is being deleted and something still needs it. The
	// message says what, and what can be done.
	ConditionDeleting = "Deleting"

	// RemovalAllowedAnnotation on a CustomResourceDefinition of the group muster.sh or on the namespace muster-system, set to
	// "true", lets it be deleted. `muster uninstall` sets it when no NodeClaim is left.
	RemovalAllowedAnnotation = "muster.sh/removal-allowed"
	// RemovalFinalizer keeps the policy that refuses such deletions in force until `muster uninstall` takes it off.
	RemovalFinalizer = "muster.sh/removal"

	// ClaimDefinition and PoolDefinition name the CustomResourceDefinitions of NodeClaims and NodePools.
	ClaimDefinition = "nodeclaims.muster.sh"
	PoolDefinition  = "nodepools.muster.sh"

	// CapacityCondition on a Pod tells its owner what Muster does about it.
	CapacityCondition corev1.PodConditionType = "muster.sh/Capacity"
)

// MaxPoolNodes is the largest maxNodes a pool may have: a claim's slot has three digits.
const MaxPoolNodes = 1000
