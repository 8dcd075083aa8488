// Package lifecycle takes one NodeClaim from the intent to have a machine until that machine is proven gone. Step is a
// state table and nothing else: it reads no clock, client or log, and performs nothing. It answers with the claim as it
// should be and with the effects still to be performed.
//
// What a loop around Step promises:
//
//   - It commits the claim first (the object when the finalizers changed, then the status) with the resourceVersion it
//     was read at, and performs the effects only after that, in their order. Without a change there is nothing to commit.
//   - The claim it hands in is at least as new as the last one it committed. An older copy out of a cache could ask for
//     something that is long over.
//   - One claim is stepped by one goroutine at a time, and its effects were performed before its next step.
//   - It performs effects only while it leads, and looks at that again before each provider call: Step cannot know.
//
// Every effect may be performed twice. A crash between the commit and an effect needs no journal: the next Step sees the
// same world and asks for the same effect again.
package lifecycle
