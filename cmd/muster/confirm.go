package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/gate"
)

// errNotConfirmed makes the exit status 1; what is known was printed.
var errNotConfirmed = errors.New("nothing was confirmed: give --yes when all of this is true")

func newConfirmGoneCommand(stdout io.Writer) *cobra.Command {
	var (
		kubeconfig string
		word       gate.Word
		yes        bool
	)
	cmd := &cobra.Command{
		Use:   "confirm-gone CLAIM --machine ID --attempt N",
		Short: "Give your word that a machine is gone or has no power",
		Long: `Confirm-gone is for a machine that nothing can be asked about any more: a burnt BMC, a dead hypervisor, a Provider that will not
come back. Muster never takes silence for "off"; a person's word is the only thing that replaces a reading. It names the machine and the
attempt, as in status.machineID and status.attempts of the NodeClaim, and is good for one act. Muster does not take it while any reading
says that the machine is on, or while its Node is Ready.

Go and look first. A machine that runs on after this may write to volumes that its pods have elsewhere by then.

The command prints what is known and changes nothing without --yes.`,
		Example: `  kubectl get nodeclaim general-003 -o yaml
  muster confirm-gone general-003 --machine 103 --attempt 1
  muster confirm-gone general-003 --machine 103 --attempt 1 --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := clientOf(kubeconfig)
			if err != nil {
				return err
			}
			return confirmer{client: c, out: stdout}.confirm(cmd.Context(), args[0], word, yes)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file; KUBECONFIG and ~/.kube/config without one")
	fs.StringVar(&word.Machine, "machine", "", "the machine's ID, as in status.machineID of the claim; of bare metal the name of the Host")
	fs.Int32Var(&word.Attempt, "attempt", 0, "the attempt, as in status.attempts of the claim")
	fs.StringVar(&word.User, "user", "", "who gives the word; without it, whom the API server takes you for")
	fs.BoolVar(&yes, "yes", false, "give the word")
	for _, name := range []string{"machine", "attempt"} {
		_ = cmd.MarkFlagRequired(name) // the flags are there: above
	}
	return cmd
}

// confirmer writes a person's word on a claim.
type confirmer struct {
	client client.Client
	out    io.Writer
}

func (c confirmer) confirm(ctx context.Context, name string, word gate.Word, yes bool) error {
	var claim v1alpha1.NodeClaim
	if err := c.client.Get(ctx, client.ObjectKey{Name: name}, &claim); err != nil {
		return fmt.Errorf("NodeClaim %s: %w", name, err)
	}
	nodes, err := c.nodesOf(ctx, &claim)
	if err != nil {
		return err
	}
	for _, line := range known(&claim, nodes) {
		fmt.Fprintln(c.out, line)
	}
	if word.User, err = whoAmI(ctx, c.client, word.User); err != nil {
		return err
	}
	if err := refuseWord(&claim, nodes, word); err != nil {
		return err
	}
	if !yes {
		return errNotConfirmed
	}
	before := claim.DeepCopy()
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[v1alpha1.ConfirmGoneAnnotation] = word.String()
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.client.Patch(ctx, &claim, patch); err != nil {
		return fmt.Errorf("write the word on NodeClaim %s: %w", name, err)
	}
	fmt.Fprintf(c.out, "Written: %s: %q. Muster looks once more before it acts on it.\n", v1alpha1.ConfirmGoneAnnotation, word.String())
	if claim.Status.State != v1alpha1.ClaimReleasing {
		fmt.Fprintf(c.out, "It counts once the machine is given back, which is asked for by: kubectl delete nodeclaim %s\n", name)
	}
	return nil
}

// nodesOf are all Nodes that may be the claim's machine, the best match or not.
func (c confirmer) nodesOf(ctx context.Context, claim *v1alpha1.NodeClaim) ([]corev1.Node, error) {
	var all corev1.NodeList
	if err := c.client.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list Nodes: %w", err)
	}
	s := &claim.Status
	nodes := slices.DeleteFunc(all.Items, func(n corev1.Node) bool {
		return n.Labels[v1alpha1.ClaimLabel] != claim.Name && n.Name != claim.Name && n.Name != machineID(claim) && (s.NodeName == "" || n.Name != s.NodeName) &&
			(s.ProviderID == "" || n.Spec.ProviderID != s.ProviderID) &&
			(s.SystemUUID == "" || !strings.EqualFold(n.Status.NodeInfo.SystemUUID, s.SystemUUID))
	})
	slices.SortFunc(nodes, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes, nil
}

// machineID is the ID of the claim's machine; of one that may have been made, that which was reserved for it.
func machineID(c *v1alpha1.NodeClaim) string {
	if c.Status.MachineID != "" {
		return c.Status.MachineID
	}
	return c.Status.ReservedID
}

func readiness(n *corev1.Node) corev1.NodeCondition {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c
		}
	}
	return corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Message: "its kubelet has said nothing yet"}
}

// known is what the API server says of a claim and its machine.
func known(c *v1alpha1.NodeClaim, nodes []corev1.Node) []string {
	lines := []string{
		fmt.Sprintf("NodeClaim %s of pool %s, provider %s", c.Name, c.Spec.Pool, c.Spec.Provider),
		fmt.Sprintf("  state:   %s: %s", c.Status.State, c.Status.Message),
		fmt.Sprintf("  machine: %s, attempt %d", orNone(machineID(c)), c.Status.Attempts),
	}
	if at := strings.Join(slices.DeleteFunc([]string{c.Status.Host, c.Status.Rack, c.Status.Zone}, func(s string) bool { return s == "" }), ", "); at != "" {
		lines = append(lines, "  where:   "+at)
	}
	if c.Status.LastError != "" {
		lines = append(lines, fmt.Sprintf("  error:   %s (%d in a row)", c.Status.LastError, c.Status.Errors))
	}
	if blocked := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReleaseBlocked); blocked != nil && blocked.Status == metav1.ConditionTrue {
		lines = append(lines, fmt.Sprintf("  blocked: %s: %s", blocked.Reason, blocked.Message))
	}
	for i := range nodes {
		ready := readiness(&nodes[i])
		line := fmt.Sprintf("  node:    %s, Ready %s since %s", nodes[i].Name, ready.Status, ready.LastTransitionTime.UTC().Format("2006-01-02 15:04:05 MST"))
		if ready.Message != "" {
			line += ": " + ready.Message
		}
		lines = append(lines, line)
	}
	if len(nodes) == 0 {
		lines = append(lines, "  node:    none")
	}
	return lines
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// refuseWord says why a word cannot be true of this claim.
func refuseWord(c *v1alpha1.NodeClaim, nodes []corev1.Node, w gate.Word) error {
	if err := w.Validate(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	switch machine := machineID(c); {
	case machine == "":
		return fmt.Errorf("NodeClaim %s has no machine", c.Name)
	case w.Machine != machine:
		return fmt.Errorf("--machine %s: the machine of NodeClaim %s is %s", w.Machine, c.Name, machine)
	case w.Attempt != c.Status.Attempts:
		return fmt.Errorf("--attempt %d: NodeClaim %s is at attempt %d", w.Attempt, c.Name, c.Status.Attempts)
	}
	for i := range nodes {
		if readiness(&nodes[i]).Status == corev1.ConditionTrue {
			return fmt.Errorf("node %s is Ready: a machine whose kubelet answers is not gone", nodes[i].Name)
		}
	}
	return nil
}
