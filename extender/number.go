package extender

import "strings"

// What a number in a pod may look like before it is read as a quantity. Reading one takes time in the square of its
// digits and of its exponent: eleven bytes, 1e-10000000, take seconds. A positive exponent matters where there are more
// digits than an int64 has; otherwise reading is quick, and checkRequests looks at what was read. The API server stores
// canonical quantities, none of which is near these bounds.
const (
	longestNumber   = 4096 // digits
	longestExponent = 3    // digits
	quickDigits     = 18
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
		case (c == 'e' || c == 'E') && digits > 0 && startsNumber(raw[:i-digits]) && slow(digits, raw[i+1:]):
			return bad("Pod", "a number has an exponent of more than %d digits", longestExponent)
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

// slow says whether an exponent after so many digits takes long to read.
func slow(digits int, exponent []byte) bool {
	if len(exponent) == 0 {
		return false
	}
	negative, n := exponent[0] == '-', 0
	if negative || exponent[0] == '+' {
		exponent = exponent[1:]
	}
	for n < len(exponent) && exponent[n] >= '0' && exponent[n] <= '9' {
		n++
	}
	ended := n == len(exponent) || strings.IndexByte("\" ,]}\t\r\n", exponent[n]) >= 0
	return ended && n > longestExponent && (negative || digits > quickDigits)
}
