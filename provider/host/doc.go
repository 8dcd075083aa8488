// Package host makes machines out of bare metal: a Host object is claimed for a NodeClaim, powered on, and given back.
//
// Three parts, in the order of a newcomer's questions: Choose says which free host a request gets; Step is the state table
// of one host; Provider and Keeper are the verbs and the loop that perform what those two decided. How a host is
// switched is behind the interface Switch; the folders redfish, ipmi and wol implement it.
//
// Everything that is known of a host is in its object's status. A claim, and each power operation, is written there before
// the BMC hears of it, with the resourceVersion as the fence: who lost the race does nothing. The package refuses to touch
// the power of a host that it did not switch on itself, and calls a host released only when it was seen off.
package host
