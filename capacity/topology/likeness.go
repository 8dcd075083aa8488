package topology

import "encoding/binary"

// Likeness is equal for kinds of one Cluster that are judged alike and count alike, whatever else their pods ask for. It
// holds for the groups known so far: resolve all kinds first.
func (k *Kind) Likeness() string {
	b := make([]byte, 0, 128)
	write := func(sort byte, numbers ...int) {
		b = append(b, sort)
		for _, n := range numbers {
			b = binary.AppendVarint(b, int64(n))
		}
	}
	for _, s := range k.spreads {
		write('s', int(s.groupID), int(s.maxSkew), int(s.minDomains), int(s.itself))
	}
	for _, c := range k.company {
		if c.itself {
			write('i', int(c.groupID))
		} else {
			write('a', int(c.groupID))
		}
	}
	for _, a := range k.avoided {
		write('x', int(a.groupID))
	}
	for _, c := range k.counted {
		write('c', int(c.id()))
	}
	return string(b)
}
