package extender

import "strings"

// What a number in a pod may look like before it is read as a quantity. Reading one takes time in the square of its
// digits and of its negative exponent: eleven bytes, 1e-10000000, take seconds. The API server stores canonical
// quantities, none of which is near these bounds.
const (
	longestNumber   = 4096 // digits
	longestExponent = 3    // digits of a negative one
)

// checkNumbers refuses JSON text with a number that would take long to read.
func checkNumbers(raw []byte) error {
	digits := 0
	for i, c := range raw {
		switch {
		case c >= '0' && c <= '9' || c == '.':
			if digits++; digits > longestNumber {
				return bad("Pod", "a number has more than %d digits", longestNumber)
			}
			continue
		case (c == 'e' || c == 'E') && digits > 0 && startsNumber(raw[:i-digits]) && tiny(raw[i+1:]):
			return bad("Pod", "a number has a negative exponent of more than %d digits", longestExponent)
		}
		digits = 0
	}
	return nil
}

// startsNumber says whether what comes after the text would be a number, and not the middle of a word.
func startsNumber(before []byte) bool {
	if n := len(before); n > 0 && (before[n-1] == '-' || before[n-1] == '+') {
		before = before[:n-1]
	}
	return len(before) > 0 && strings.IndexByte("\": ,[\t\r\n", before[len(before)-1]) >= 0
}

// tiny says whether an exponent is negative and too long.
func tiny(exponent []byte) bool {
	if len(exponent) == 0 || exponent[0] != '-' {
		return false
	}
	n := 1
	for n < len(exponent) && exponent[n] >= '0' && exponent[n] <= '9' {
		n++
	}
	ended := n == len(exponent) || strings.IndexByte("\" ,]}\t\r\n", exponent[n]) >= 0
	return ended && n-1 > longestExponent
}
