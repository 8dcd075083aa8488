// Command kube is one program that answers to the names of four: kube-apiserver, kube-controller-manager,
// kube-scheduler and kubectl, each compiled unchanged from its Go module. One program links once and starts from one
// file; the control plane of the e2e stories needs no container image and no download.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// hostnameVariable gives the process a host name of its own. It must have been started in its own UTS namespace. Two
// schedulers on one machine then hold a lease under two names, as they do in two pods.
const hostnameVariable = "MUSTER_E2E_HOSTNAME"

func main() {
	if err := takeHostname(os.Getenv(hostnameVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	build, ok := program()
	if !ok {
		fmt.Fprintln(os.Stderr, "usage: kube kube-apiserver|kube-controller-manager|kube-scheduler|kubectl ...")
		os.Exit(2)
	}
	os.Exit(cli.Run(build()))
}

// program finds the command by the name it was called by or, failing that, by its first argument, which it removes.
func program() (build func() *cobra.Command, ok bool) {
	programs := map[string]func() *cobra.Command{
		"kube-apiserver":          func() *cobra.Command { return apiserver.NewAPIServerCommand() },
		"kube-controller-manager": func() *cobra.Command { return controllers.NewControllerManagerCommand() },
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kubectl":                 kubectl.NewDefaultKubectlCommand,
	}
	name := filepath.Base(os.Args[0])
	if _, known := programs[name]; !known && len(os.Args) > 1 {
		name, os.Args = os.Args[1], os.Args[1:]
	}
	build, ok = programs[name]
	return build, ok
}

func takeHostname(name string) error {
	if name == "" {
		return nil
	}
	if err := syscall.Sethostname([]byte(name)); err != nil {
		return fmt.Errorf("set hostname %q (is this process in its own UTS namespace?): %w", name, err)
	}
	return nil
}
