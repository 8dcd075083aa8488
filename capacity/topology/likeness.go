package topology

import "fmt"

// Likeness is equal for kinds of one Cluster that are judged alike and count alike, whatever else their pods ask for. It
// holds for the groups known so far: resolve all kinds first.
func (k *Kind) Likeness() string {
	text := ""
	for _, s := range k.spreads {
		text += fmt.Sprintf("s%p,%d,%d,%d", s.spreadGroup, s.maxSkew, s.minDomains, s.itself)
	}
	for _, c := range k.company {
		text += fmt.Sprintf("a%p,%t", c.companyGroup, c.itself)
	}
	for _, a := range k.avoided {
		text += fmt.Sprintf("x%p", a.termGroup)
	}
	for _, c := range k.counted {
		text += fmt.Sprintf("c%p", c)
	}
	return text
}
