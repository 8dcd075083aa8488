package capacity

import (
	lru "github.com/hashicorp/golang-lru/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	rememberedAsks = 10_000
	rememberedPods = 100_000
	rememberedGone = 20_000
)

// Compiler makes Asks and lets pods with one signature share one. It is safe for concurrent use.
type Compiler struct {
	bySignature *lru.Cache[string, *Ask]
}

// NewCompiler makes an empty Compiler.
func NewCompiler() *Compiler {
	return &Compiler{bySignature: newCache[string, *Ask](rememberedAsks)}
}

// Ask compiles what a pod asks of a node.
func (c *Compiler) Ask(pod *corev1.Pod) *Ask {
	fresh := newAsk(pod)
	if known, ok := c.bySignature.Get(fresh.Signature); ok {
		return known
	}
	fresh.compile(pod)
	c.bySignature.Add(fresh.Signature, fresh)
	return fresh
}

// callLog remembers the newest filter call of each pod recently seen.
type callLog struct {
	newest *lru.Cache[types.UID, uint64]
}

func newCallLog() *callLog { return &callLog{newest: newCache[types.UID, uint64](rememberedPods)} }

// arrive notes a call and says whether it is the newest of its pod. Numbers rise in the order in which calls arrived.
func (c *callLog) arrive(uid types.UID, number uint64) bool {
	if newest, ok := c.newest.Get(uid); ok && newest > number {
		return false
	}
	c.newest.Add(uid, number)
	return true
}

// forget is for pods about which no answer is given any more.
func (c *callLog) forget(uid types.UID) { c.newest.Remove(uid) }

// newCache cannot fail: golang-lru refuses only sizes that are not positive.
func newCache[K comparable, V any](size int) *lru.Cache[K, V] {
	c, err := lru.New[K, V](size)
	if err != nil {
		panic(err)
	}
	return c
}
