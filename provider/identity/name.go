package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
)

const (
	// longestName is that of a DNS label (RFC 1123): a node's name is also its host name and the value of a label.
	longestName = 63
	// hashDigits are the hexadecimal digits of a node's name that tell one use of a slot from the next.
	hashDigits = 6
)

// MadeNodeName is the name of the Node of a machine that Muster makes: the claim's name, which is a slot that comes back, and a short
// hash of its UID and attempt. So the pods of an old Node never count on a new one of the same slot: kube-controller-manager
// removes them some 40 s after their Node (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-garbage-collection).
// A host keeps its own name.
func MadeNodeName(claim string, uid types.UID, attempt int32) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", uid, max(attempt, 1)))
	slot := strings.ToLower(claim)
	if most := longestName - hashDigits - 1; len(slot) > most {
		slot = strings.TrimRight(slot[:most], "-.")
	}
	return slot + "-" + hex.EncodeToString(sum[:])[:hashDigits]
}

// NodeName is the name of the Node that registered for a claim, before that the one that a machine made for it gives its Node.
func NodeName(c *v1alpha1.NodeClaim) string {
	if c.Status.NodeName != "" {
		return c.Status.NodeName
	}
	return MadeNodeName(c.Name, c.UID, c.Status.Attempts)
}
