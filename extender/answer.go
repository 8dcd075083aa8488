package extender

import (
	"encoding/json"
	"strconv"

	"github.com/muster-sh/muster/capacity"
)

// appendFiltered appends an ExtenderFilterResult: the nodes that passed, in the form in which they came, and a reason
// for those that did not: reasons has one for each name, in their order, and may end early. Reasons go into FailedAndUnresolvableNodes only: a node in
// FailedNodes invites the scheduler to kill pods there, which helps against none of our reasons.
func appendFiltered(b []byte, r request, passed []int, reasons []capacity.Reason) []byte {
	b = append(b, `{"Nodes":`...)
	if r.whole {
		b = appendNodes(b, r, passed)
		b = append(b, `,"NodeNames":null`...)
	} else {
		b = append(b, `null,"NodeNames":`...)
		b = appendNames(b, r, passed)
	}
	b = append(b, `,"FailedNodes":null,"FailedAndUnresolvableNodes":{`...)
	b = appendReasons(b, r.names, reasons)
	return append(b, `},"Error":""}`...)
}

func appendNodes(b []byte, r request, passed []int) []byte {
	b = append(b, `{"metadata":{},"items":[`...)
	for n, i := range passed {
		if n > 0 {
			b = append(b, ',')
		}
		b = append(b, r.nodes[i].raw...)
	}
	return append(b, "]}"...)
}

func appendNames(b []byte, r request, passed []int) []byte {
	b = append(b, '[')
	for n, i := range passed {
		if n > 0 {
			b = append(b, ',')
		}
		b = appendText(b, r.names[i])
	}
	return append(b, ']')
}

// appendReasons appends the members for the nodes that have a reason. Neighbours mostly share one, so its text is made
// once.
func appendReasons(b []byte, names []string, reasons []capacity.Reason) []byte {
	var last capacity.Reason
	var text []byte
	first := true
	for i, reason := range reasons {
		if reason == (capacity.Reason{}) {
			continue
		}
		if reason != last {
			last, text = reason, appendText(text[:0], reason.String())
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(appendText(b, names[i]), ':')
		b = append(b, text...)
	}
	return b
}

// appendScores appends a HostPriorityList.
func appendScores(b []byte, names []string, scores []int64) []byte {
	b = append(b, '[')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(b, `{"Host":`...), name)
		b = strconv.AppendInt(append(b, `,"Score":`...), scores[i], 10)
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendText appends a JSON string; names and reasons hardly ever hold what has to be escaped.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			quoted, err := json.Marshal(s)
			if err != nil { // a string cannot fail to encode
				quoted = []byte(`""`)
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
