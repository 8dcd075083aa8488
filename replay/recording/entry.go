package recording

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Schema names the form of a recording. It changes when a field changes its meaning or goes; new fields may come.
const Schema = "muster.sh/recording/v1"

// Header is the first line of a file.
type Header struct {
	Schema string `json:"schema"`
	// Recording tells the files of one process from those of another.
	Recording string `json:"recording"`
	// File counts the files of a recording, from 1.
	File    int       `json:"file"`
	Started time.Time `json:"started"`
	Version string    `json:"version"` // of Muster
	// Place and Guard are the schedulers whose pods are Muster's concern.
	Place []string `json:"place,omitempty"`
	Guard []string `json:"guard,omitempty"`
	// Hashed is set when names are not the cluster's own.
	Hashed bool `json:"hashed,omitempty"`
}

// Entry is any other line: one of its pointers is set.
type Entry struct {
	At     time.Time     `json:"t"`
	Object *Object       `json:"object,omitempty"`
	Call   *Call         `json:"call,omitempty"`
	Did    *ProviderCall `json:"provider,omitempty"`
	Gate   *Judgement    `json:"gate,omitempty"`
	// Lost is how many calls were left out since the last entry, because they came faster than they could be written.
	Lost uint64 `json:"lost,omitempty"`
}

// Object is a new version of an object, or its end.
type Object struct {
	Kind string `json:"kind"`
	// There is set on those that exist when a file begins.
	There bool `json:"there,omitempty"`
	Gone  bool `json:"gone,omitempty"`
	// Body is the object as the API server would have it, of the fields in the allow-list. One that is gone has its
	// metadata only.
	Body json.RawMessage `json:"body"`
}

// Metadata is the object's.
func (o *Object) Metadata() (metav1.ObjectMeta, error) {
	var head struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(o.Body, &head); err != nil {
		return metav1.ObjectMeta{}, fmt.Errorf("%s: %w", o.Kind, err)
	}
	return head.Metadata, nil
}

// Call is a call of the scheduler, and its answer.
type Call struct {
	Verb   string `json:"verb"` // place/filter, guard/preempt, …
	Number uint64 `json:"number"`
	Pod    string `json:"pod"` // UID
	// Offered is how many nodes came with the call; one alone proves nothing about the others.
	Offered int `json:"offered"`
	// Node is the node that was offered in turn; empty where several or none passed.
	Node string `json:"node,omitempty"`
	// Passed is how many nodes passed, or were scored.
	Passed int `json:"passed"`
	// Refused counts the others by reason.
	Refused map[string]int `json:"refused,omitempty"`
	// Error is what the call was refused for as a whole.
	Error  string `json:"error,omitempty"`
	Micros int64  `json:"micros"` // from its arrival to its answer
}

// Judgement is what the gate said before an act that cannot be taken back.
type Judgement struct {
	Act string `json:"act"`
	// ClaimUID is the UID of the claim whose machine it is about; empty where it is about none.
	ClaimUID string `json:"claimUID,omitempty"`
	// Answer is Permitted, or the reason of the refusal.
	Answer string `json:"answer"`
	// Clauses are those that were proven, or those that were not.
	Clauses []string `json:"clauses,omitempty"`
}

// ProviderCall is a call of a provider, and how it ended.
type ProviderCall struct {
	Provider string `json:"provider"`
	Verb     string `json:"verb"`
	Claim    string `json:"claim,omitempty"`
	Outcome  string `json:"outcome"` // ok, or the kind of error
	Micros   int64  `json:"micros"`
}
