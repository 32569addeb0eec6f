package loadgen

import (
	"math/rand/v2"
	"strings"
)

// words make up prompts. They are among the most common ones of English, so
// that a tokenizer trained on text needs about one token for each.
var words = strings.Fields(`the of and to in is that it for as with on was at by be this are from or have an not but
which you all were we when there can more if no one would so what up their out about who get like time just into year
some them see other than then now only its over think also back after use two how work first well even new want
because any these give day most here make long little very where much before right too mean old great same tell does
set three own such turn point home world near build head stand page should country found answer school grow study
still learn plant cover food sun four state keep eye never last let thought city tree cross farm hard start might
story far sea draw left late run while press close night real life few north book carry took science eat room friend
began idea fish mountain stop once hear horse cut sure watch color face wood main enough plain girl usual young`)

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
