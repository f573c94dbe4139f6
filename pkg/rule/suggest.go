package rule

import "strings"

// nearest returns the candidate that a misspelt word most likely means, or "".
func nearest(word string, candidates []string) string {
	const maxWord = 64 // the distance takes time quadratic in the length
	if len(word) > maxWord {
		return ""
	}
	plain := plainWord(word)
	best, bestDistance := "", (len(word)+2)/3+1
	for _, c := range candidates {
		if plainWord(c) == plain {
			return c
		}
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// plainWord strips what spellings of one name differ in: clientIp, client-ip, CLIENT_IP.
func plainWord(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

// distance is the number of single-byte insertions, deletions and substitutions between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// DidYouMean ends a message about an unknown word, with the separator before it: the candidate that was
// most likely meant, else all of them.
func DidYouMean(word string, candidates []string) string {
	if s := nearest(word, candidates); s != "" {
		return `; did you mean "` + s + `"?`
	}
	return "; there are " + strings.Join(candidates, ", ")
}
