package loadgen

import (
	"math/rand/v2"
	"strings"
)

// words make up prompts. They are ordinary so that a tokenizer trained on
// text splits them as it splits text.
var words = strings.Fields(`the a of to and in is it for on that with as are this be from or by at an not have can
will your what how when where which about more other time day year people way water light house street river
garden window music letter number question answer reason change order story travel market morning evening
weather science engine bridge station summer winter paper colour simple quick small large early late open
write read find make give keep tell show explain compare describe list plan cook build measure repair choose
please could should would between under after before every first second last next short long clear`)

// promptBook holds text in advance, so that a prompt is a slice.
type promptBook struct {
	text    string
	systems []string
}

// newPromptBook writes a book of about n bytes and the system prompts that
// conversations share.
func newPromptBook(seed uint64, n, systems, systemChars int) *promptBook {
	rng := rand.New(rand.NewPCG(seed, 0xb00c))
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[rng.IntN(len(words))])
		b.WriteByte(' ')
	}
	book := &promptBook{text: b.String()}
	for i := range systems {
		head := "You are assistant " + string(rune('A'+i%26)) + ". "
		body := book.slice(rng.IntN(len(book.text)), max(systemChars-len(head), 1))
		book.systems = append(book.systems, head+body)
	}
	return book
}

// slice returns n bytes of text from a position, going round at the end.
func (b *promptBook) slice(at, n int) string {
	var out strings.Builder
	out.Grow(n)
	for at %= len(b.text); n > 0; at = 0 {
		take := min(n, len(b.text)-at)
		out.WriteString(b.text[at : at+take])
		n -= take
	}
	return out.String()
}
