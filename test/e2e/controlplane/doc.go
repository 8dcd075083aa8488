// Package controlplane boots a real Kubernetes control plane on loopback for the e2e stories: etcd, kube-apiserver,
// kube-controller-manager and kwok, each a process of its own with a fresh folder, fresh keys and free ports. RBAC is
// on and ServiceAccount tokens are real, so what the product may not do fails here as it would in a cluster.
//
// It starts no kube-scheduler and no Muster: those are what the stories are about. It needs no container, no image and
// no network beyond loopback, and it leaves no process behind, not even when the test binary is killed.
package controlplane
