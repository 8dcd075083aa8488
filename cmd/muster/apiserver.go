package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// restConfig allows bursts of writes: a batch of machines is one.
func restConfig(kubeconfig string) (*rest.Config, error) {
	loading := clientcmd.NewDefaultClientConfigLoadingRules()
	loading.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, nil).ClientConfig()
	switch {
	case err != nil && kubeconfig == "" && clientcmd.IsEmptyConfig(err):
		return nil, errors.New("--kubeconfig is missing: KUBECONFIG and ~/.kube/config name no cluster, and this is no pod of one")
	case err != nil:
		return nil, fmt.Errorf("--kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS, config.Burst = 200, 400
	config.UserAgent = "muster/" + version()
	return config, nil
}

// apiServerError says which API server it was that could not be reached. Other errors stay as they are, an end that was
// asked for too.
func apiServerError(config *rest.Config, err error) error {
	var failed *url.Error
	if !errors.As(err, &failed) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("API server %s (is it the one that --kubeconfig should name, and is it up?): %w", config.Host, failed.Err)
}

// prepareServing sets what is one for the whole process, and finds the API server.
func prepareServing(f serveFlags, log *slog.Logger) (*rest.Config, error) {
	tuneMemory(os.Getenv)
	klog.SetSlogLogger(log)
	ctrllog.SetLogger(logr.FromSlogHandler(log.Handler()))
	return restConfig(f.kubeconfig)
}
