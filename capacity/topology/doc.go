// Package topology judges where a pod may stand among other pods: topologySpreadConstraints and inter-pod affinity and
// anti-affinity, as kube-scheduler's plugins PodTopologySpread and InterPodAffinity filter in 1.36. Rules are compiled
// once per pod spec; a Cluster counts pods by topology domain and keeps the counts while pods come and go.
//
// It knows nothing of resources, taints (but for nodeTaintsPolicy) or volumes, decides nothing, and has no clock.
package topology
