package proxmox

import (
	"crypto/sha1" //nolint:gosec // UUID version 5 is made of it; nothing relies on its strength
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/provider/identity"
)

// What a machine of ours carries. The tag of its claim is in every listing; notes and SMBIOS are in the VM's configuration
// only. All of them are compared before a machine is stopped or destroyed.
const (
	tagOurs    = "muster"
	tagKept    = "muster-kept"
	tagPrefix  = "muster-"
	notePrefix = "muster: "
)

// stage is how far a machine's configuration is.
type stage string

const (
	stageCloned stage = "cloned" // written by the clone itself; never started, SMBIOS and tags still the template's
	stageMade   stage = "made"
	stageKept   stage = "kept" // stopped, without a claim
)

// mark is the identity in a VM's notes.
type mark struct {
	Provider string    `json:"provider"`
	Cluster  types.UID `json:"cluster,omitempty"`
	Claim    string    `json:"claim,omitempty"`
	UID      types.UID `json:"uid,omitempty"`
	Attempt  int32     `json:"attempt,omitempty"`
	Pool     string    `json:"pool"`
	Shape    string    `json:"shape"`
	Keep     bool      `json:"keep,omitempty"`
	Stage    stage     `json:"stage"`
	// Node is the VM's name, and so its node's, and VMID its number: a clone of the VM takes the notes along, and neither of these.
	// Marks older than that have none of both.
	Node string `json:"node,omitempty"`
	VMID int    `json:"vmid,omitempty"`
	// Seed is the volume that the machine joins with, and Token the public part of its token: written before they are made,
	// and taken out when they are proven gone.
	Seed  string `json:"seed,omitempty"`
	Token string `json:"token,omitempty"`
}

// note is the text of a VM's notes.
func (m mark) note(description string) string {
	b, err := json.Marshal(m)
	if err != nil {
		return "" // strings and numbers only: it cannot happen, and a VM without a mark is not ours
	}
	text := "Managed by Muster: the next line is its identity, do not change it.\n" + notePrefix + string(b) + "\n"
	if description != "" {
		text = description + "\n\n" + text
	}
	return text
}

// renote puts this mark in the place of the one in some notes, and leaves the rest as it is.
func (m mark) renote(notes string) string {
	b, err := json.Marshal(m)
	if err != nil {
		return notes // see note
	}
	var out strings.Builder
	for line := range strings.Lines(notes) {
		if strings.HasPrefix(strings.TrimSpace(line), notePrefix) {
			line = notePrefix + string(b) + "\n"
		}
		out.WriteString(line)
	}
	return out.String()
}

// readMark finds the mark in a VM's notes.
func readMark(notes string) (mark, bool) {
	for line := range strings.Lines(notes) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), notePrefix)
		if !ok {
			continue
		}
		var m mark
		if err := json.Unmarshal([]byte(rest), &m); err != nil || m.Provider == "" || m.Stage == "" {
			return mark{}, false
		}
		return m, true
	}
	return mark{}, false
}

// uuidOf is the SMBIOS UUID of an attempt, and with attempt 0 what the claim's tag is made of: a UUID of version 5.
func uuidOf(claim types.UID, attempt int32) string {
	sum := sha1.Sum(fmt.Appendf(nil, "muster.sh/nodeclaim/%s/%d", claim, attempt)) //nolint:gosec // see above
	b := sum[:16]
	b[6], b[8] = b[6]&0x0f|0x50, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

func tagOf(claim types.UID) string { return tagPrefix + uuidOf(claim, 0) }

// name is the VM's name, and so its node's. A VM whose mark is older than names with a hash keeps the name it was made with; a clone
// gets the present one with its configuration.
func (m mark) name() string {
	switch {
	case m.Node != "":
		return m.Node
	case m.Stage != stageMade:
		return identity.MadeNodeName(m.Claim, m.UID, m.Attempt)
	case m.Attempt <= 1:
		return m.Claim
	}
	return fmt.Sprintf("%s-%d", m.Claim, m.Attempt)
}

// copied says that the VM with this number took its notes from another VM.
func (m mark) copied(vmid int) bool { return m.VMID != 0 && m.VMID != vmid }

// speaksAgainst compares everything that a VM carries with what this mark promises; empty means that it is what it says.
func (m mark) speaksAgainst(c *vmConfig) string {
	if m.Node != "" && c.all["name"] != m.Node || m.Stage == stageMade && c.all["name"] != m.name() {
		return fmt.Sprintf("its name is %q, not %q", c.all["name"], m.name())
	}
	if m.Stage == stageCloned {
		return "" // the clone wrote the notes; the rest comes before the first start
	}
	tags := splitTags(c.Tags)
	switch {
	case !slices.Contains(tags, tagOurs):
		return "the tag " + tagOurs + " is missing"
	case m.Stage == stageKept && !slices.Contains(tags, tagKept):
		return "the tag " + tagKept + " is missing"
	case m.Stage == stageKept:
		return ""
	case !slices.Contains(tags, tagOf(m.UID)):
		return "the claim's tag is missing"
	case !strings.EqualFold(c.smbiosUUID(), uuidOf(m.UID, m.Attempt)):
		return "the SMBIOS UUID is another one"
	case m.Seed != "" && !strings.HasSuffix(m.Seed, ":iso/"+imageName(m.UID, m.Attempt)):
		return fmt.Sprintf("its notes name volume %q, which is not what it joins with", m.Seed)
	case m.Token != "" && m.Token != tokenID(m.UID, m.Attempt):
		return "its notes name a token that is not its own"
	}
	return ""
}

// marks are the tags of a machine: ours, the operator's and the template's.
func marks(c *vmConfig, own []string, extra ...string) string {
	var tags []string
	for _, t := range splitTags(c.Tags) {
		if t != tagOurs && !strings.HasPrefix(t, tagPrefix) {
			tags = append(tags, t)
		}
	}
	tags = append(append(append(tags, own...), tagOurs), extra...)
	slices.Sort(tags)
	return strings.Join(slices.Compact(tags), ";")
}
