package kube

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/muster-sh/muster/provider/identity"
)

const (
	indexProviderID = "providerID"
	indexSystemUUID = "systemUUID"
	indexName       = "name"
)

// indexNodes makes Nodes findable by what a claim knows of its machine.
func (f *Feed) indexNodes(informer cache.Informer) error {
	err := informer.AddIndexers(toolscache.Indexers{
		indexProviderID: nodeIndex(func(n *corev1.Node) string { return n.Spec.ProviderID }),
		indexSystemUUID: nodeIndex(func(n *corev1.Node) string { return identity.UUID(n.Status.NodeInfo.SystemUUID) }),
		indexName:       nodeIndex(func(n *corev1.Node) string { return n.Name }),
	})
	if err != nil {
		return fmt.Errorf("index nodes: %w", err)
	}
	shared, ok := informer.(toolscache.SharedIndexInformer)
	if !ok {
		return fmt.Errorf("index nodes: %T has no index", informer)
	}
	f.nodes = shared.GetIndexer()
	return nil
}

func nodeIndex(key func(*corev1.Node) string) toolscache.IndexFunc {
	return func(o any) ([]string, error) {
		if n, ok := o.(*corev1.Node); ok && key(n) != "" {
			return []string{key(n)}, nil
		}
		return nil, nil
	}
}

// Candidates returns the Nodes that carry one of these.
func (f *Feed) Candidates(name, providerID, systemUUID string) []*corev1.Node {
	var found []*corev1.Node
	seen := map[string]bool{}
	for index, key := range map[string]string{
		indexName: name, indexProviderID: providerID, indexSystemUUID: identity.UUID(systemUUID),
	} {
		if key == "" || f.nodes == nil {
			continue
		}
		objects, err := f.nodes.ByIndex(index, key)
		if err != nil {
			continue // the index exists: indexNodes would have failed
		}
		for _, o := range objects {
			if n, ok := o.(*corev1.Node); ok && !seen[n.Name] {
				seen[n.Name] = true
				found = append(found, n)
			}
		}
	}
	return found
}
