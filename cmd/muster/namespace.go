package main

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// defaultNamespace is that of deploy/.
	defaultNamespace = "muster-system"
	// podNamespaceFile names the namespace in every pod that has a ServiceAccount.
	podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// ownNamespace is that of the pod this runs in, or the one that Muster has as a rule.
func ownNamespace() string { return namespaceOf(podNamespaceFile) }

func namespaceOf(file string) string {
	text, err := os.ReadFile(file)
	name := strings.TrimSpace(string(text))
	if err != nil || checkNamespace(name) != nil {
		return defaultNamespace
	}
	return name
}

func checkNamespace(name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("--namespace %q: use the name of a namespace, for example %s", name, defaultNamespace)
	}
	return nil
}
