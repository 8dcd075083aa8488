package shipped

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// deployment is what the stories take from the shipped Deployment of place mode.
type deployment struct {
	namespace, account string
	muster, scheduler  []string // the containers' arguments
}

func (k *Kit) readDeployment(ctx context.Context) (deployment, error) {
	text, err := k.Plane.Kubectl(ctx, "kustomize", k.path("deploy/place"))
	if err != nil {
		return deployment{}, err
	}
	for _, document := range strings.Split(text, "\n---\n") {
		var d appsv1.Deployment
		if yaml.Unmarshal([]byte(document), &d) == nil && d.Kind == "Deployment" {
			return fromDeployment(d)
		}
	}
	return deployment{}, fmt.Errorf("deploy/place ships no Deployment")
}

func fromDeployment(d appsv1.Deployment) (deployment, error) {
	got := deployment{namespace: d.Namespace, account: d.Spec.Template.Spec.ServiceAccountName}
	for _, c := range d.Spec.Template.Spec.Containers {
		switch {
		case strings.Contains(c.Image, "kube-scheduler"):
			got.scheduler = containerFlags(c)
		case strings.Contains(c.Image, "muster"):
			got.muster = containerFlags(c)
		}
	}
	if got.namespace == "" || got.account == "" || got.muster == nil || got.scheduler == nil {
		return got, fmt.Errorf("deploy/place ships a Deployment without namespace, ServiceAccount, muster or kube-scheduler: %+v", got)
	}
	return got, nil
}

func containerFlags(c corev1.Container) []string {
	var flags []string
	for _, word := range slices.Concat(c.Command, c.Args) {
		if strings.HasPrefix(word, "--") {
			flags = append(flags, word)
		}
	}
	return flags
}

// withFlags replaces or adds flags of the form --name=value and keeps the others as they were shipped.
func withFlags(flags []string, own ...string) []string {
	name := func(flag string) string { before, _, _ := strings.Cut(flag, "="); return before }
	var merged []string
	for _, shipped := range flags {
		if !slices.ContainsFunc(own, func(o string) bool { return name(o) == name(shipped) }) {
			merged = append(merged, shipped)
		}
	}
	return append(merged, own...)
}
