package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/capacity/kube"
	"github.com/muster-sh/muster/provider/gate"
)

// freezeFlags are those of `muster freeze` and `muster thaw`.
type freezeFlags struct {
	kubeconfig, namespace       string
	pools                       []string
	releases, provisioning, all bool
	reason, user                string
	wait                        time.Duration
}

// keys are what is frozen, or thawed: of neither flag, what is usual.
func (f *freezeFlags) keys(usual ...string) []string {
	var keys []string
	if f.releases || f.all {
		keys = append(keys, gate.FreezeReleases)
	}
	if f.provisioning || f.all {
		keys = append(keys, gate.FreezeProvisioning)
	}
	if len(keys) == 0 {
		return usual
	}
	return keys
}

func (f *freezeFlags) register(cmd *cobra.Command, verb string) {
	fs := cmd.Flags()
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; KUBECONFIG and ~/.kube/config without one")
	fs.StringVar(&f.namespace, "namespace", ownNamespace(), "namespace of Muster, as its own --namespace says")
	fs.StringSliceVar(&f.pools, "pool", nil, "NodePool to "+verb+" (repeatable); every pool without one")
	fs.BoolVar(&f.releases, "releases", false, verb+" releases: evictions, deletions, stops and restarts")
	fs.BoolVar(&f.provisioning, "provisioning", false, verb+" provisioning: no machine is ordered")
	fs.DurationVar(&f.wait, "wait", 15*time.Second, "how long to wait until Muster says so on the pools (0: not at all)")
}

func newFreezeCommand(stdout io.Writer) *cobra.Command {
	var f freezeFlags
	cmd := &cobra.Command{
		Use:   "freeze --reason TEXT",
		Short: "Stop new destructive acts, provisioning, or both, at once",
		Long: `Freeze writes the ConfigMap muster-freeze, which Muster reads before each act that cannot be taken back: from then on no pod is
evicted, no machine is deleted, stopped or restarted, and no Node is deleted. With --provisioning no machine is ordered. It needs no restart.
What a provider was asked for already goes on, and is printed. Undoing goes on: nodes are reopened and uncordoned where pods need them.

It exits with 1 when Muster does not say within --wait that it has seen the freeze. The ConfigMap is written then all the same.`,
		Example: `  muster freeze --reason "switches of rack 3 are replaced"
  muster freeze --pool general --pool gpu --reason "inventory"
  muster freeze --all --reason "all hands off"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if strings.TrimSpace(f.reason) == "" {
				return errors.New("--reason is missing: whoever finds the freeze must know what it waits for")
			}
			s, err := f.stopper(stdout)
			if err != nil {
				return err
			}
			return s.freeze(cmd.Context(), f)
		},
	}
	f.register(cmd, "freeze")
	cmd.Flags().BoolVar(&f.all, "all", false, "freeze releases and provisioning")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for whoever finds it")
	cmd.Flags().StringVar(&f.user, "user", "", "who freezes; without it, whom the API server takes you for")
	return cmd
}

func newThawCommand(stdout io.Writer) *cobra.Command {
	var f freezeFlags
	cmd := &cobra.Command{
		Use:   "thaw",
		Short: "Let frozen pools go on",
		Long: `Thaw takes back what muster freeze wrote: releases and provisioning of every pool, or only what the flags name. What was begun
before the freeze goes on where it was, and is printed.`,
		Example: `  muster thaw
  muster thaw --pool general
  muster thaw --provisioning`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := f.stopper(stdout)
			if err != nil {
				return err
			}
			return s.thaw(cmd.Context(), f)
		},
	}
	f.register(cmd, "thaw")
	return cmd
}

func (f *freezeFlags) stopper(stdout io.Writer) (*stopper, error) {
	if err := checkNamespace(f.namespace); err != nil {
		return nil, err
	}
	if f.wait < 0 {
		return nil, fmt.Errorf("--wait %s: must not be negative", f.wait)
	}
	if slices.Contains(f.pools, "") {
		return nil, errors.New("--pool is empty: name a NodePool, or leave the flag out for every pool")
	}
	c, err := clientOf(f.kubeconfig)
	if err != nil {
		return nil, err
	}
	return &stopper{client: c, namespace: f.namespace, out: stdout, now: time.Now}, nil
}

// clientOf reads and writes as the person who calls.
func clientOf(kubeconfig string) (client.Client, error) {
	config, err := restConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	scheme, err := kube.Scheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, apiServerError(config, fmt.Errorf("make a client: %w", err))
	}
	return c, nil
}

// whoAmI asks the API server, where the flag names nobody.
func whoAmI(ctx context.Context, c client.Client, flag string) (string, error) {
	if name := strings.TrimSpace(flag); name != "" {
		return name, nil
	}
	var review authenticationv1.SelfSubjectReview
	if err := c.Create(ctx, &review); err != nil {
		return "", fmt.Errorf("--user is missing, and the API server does not say who you are: %w", err)
	}
	if review.Status.UserInfo.Username == "" {
		return "", errors.New("--user is missing, and the API server does not say who you are")
	}
	return review.Status.UserInfo.Username, nil
}
