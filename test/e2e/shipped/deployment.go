package shipped

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Deployment is what the stories take from a shipped Deployment.
type Deployment struct {
	// Kubeconfig acts as the ServiceAccount of the Deployment's pods.
	Kubeconfig string
	// SchedulerConfigFile is the KubeSchedulerConfiguration shipped beside it.
	SchedulerConfigFile string
	// Muster and Scheduler are the flags of the containers.
	Muster, Scheduler []string
	// SchedulerEnv is the environment of the scheduler's container.
	SchedulerEnv []string
}

// readDeployment reads what kustomize makes of a folder, as the shipped file stands, not what was edited for a story.
func (k *Kit) readDeployment(ctx context.Context, folder string) (Deployment, error) {
	text, err := k.Plane.Kubectl(ctx, "kustomize", k.path(folder))
	if err != nil {
		return Deployment{}, err
	}
	for _, document := range strings.Split(text, "\n---\n") {
		var d appsv1.Deployment
		if yaml.Unmarshal([]byte(document), &d) != nil || d.Kind != "Deployment" {
			continue
		}
		got := Deployment{SchedulerConfigFile: filepath.Join(k.path(folder), "scheduler-config.yaml")}
		for _, c := range d.Spec.Template.Spec.Containers {
			if strings.Contains(c.Image, "kube-scheduler") {
				got.Scheduler, got.SchedulerEnv = containerFlags(c), containerEnv(c)
			} else {
				got.Muster = containerFlags(c)
			}
		}
		got.Kubeconfig, err = k.Plane.AccountKubeconfig(ctx, d.Namespace, d.Spec.Template.Spec.ServiceAccountName)
		return got, err
	}
	return Deployment{}, fmt.Errorf("%s ships no Deployment", folder)
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

func containerEnv(c corev1.Container) []string {
	var env []string
	for _, v := range c.Env {
		env = append(env, v.Name+"="+v.Value)
	}
	return env
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
