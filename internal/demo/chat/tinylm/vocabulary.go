package tinylm

import (
	"strings"
)

// The vocabulary is fixed: control tokens, the 256 bytes so that every prompt
// can be read, and common English pieces so that output is text. Output comes
// from the pieces only, never from raw bytes or control tokens other than EOS.
const (
	// VocabSize is the number of tokens.
	VocabSize = 512
	// EOS ends an answer.
	EOS int32 = 0
	// Roles open a message of a chat; each ends with RoleEnd.
	roleSystem    int32 = 1
	roleUser      int32 = 2
	roleAssistant int32 = 3
	roleTool      int32 = 4
	roleEnd       int32 = 5
	firstByte     int32 = 8
	firstPiece    int32 = firstByte + 256
)

// pieces are words and word parts. A leading space belongs to the piece, as in
// byte-pair vocabularies.
var pieces = func() []string {
	words := strings.Fields(`the of and to in is that it for as with on was at by be this are from or have an
not but which you all were we when there can more if no one would so what up their out about who get like time
just into year some them see other than then now only its over think also back after use two how work first well
even new want because any these give day most here make long little very where much before right too mean old
great same tell does set three own such turn point home world near build head stand page should country found
answer school grow study still learn plant cover food sun four state keep eye never last let thought city tree
cross farm hard start might story saw far sea draw left late run while press close night real life few north
book carry took science eat room friend began idea fish mountain stop once hear horse cut sure watch color face
wood main enough plain girl usual young ready above ever red list though feel talk bird soon body dog family
direct pose leave song measure door product black short wind question happen complete ship area half rock order
fire south problem piece told knew pass since top whole`)
	out := []string{".", ",", "?", "!", ";", ":", "\n", "s", "ed", "ing", "ly", "er", "'s", "-"}
	seen := map[string]bool{}
	for _, w := range words {
		if len(out) < int(VocabSize-firstPiece) && !seen[w] {
			seen[w] = true
			out = append(out, " "+w)
		}
	}
	for c := 'a'; len(out) < int(VocabSize-firstPiece); c++ {
		out = append(out, " "+string(c)+string(c))
	}
	return out
}()

// longest is the length of the longest piece in bytes; byPiece finds a token.
var longest, byPiece = func() (int, map[string]int32) {
	n, m := 0, make(map[string]int32, len(pieces))
	for i, p := range pieces {
		n = max(n, len(p))
		m[p] = firstPiece + int32(i)
	}
	return n, m
}()

// Encode cuts text into tokens: the longest piece that matches, else one byte.
func Encode(text string) []int32 {
	out := make([]int32, 0, len(text)/3+1)
next:
	for i := 0; i < len(text); {
		for n := min(longest, len(text)-i); n > 0; n-- {
			if t, ok := byPiece[text[i:i+n]]; ok {
				out = append(out, t)
				i += n
				continue next
			}
		}
		out = append(out, firstByte+int32(text[i]))
		i++
	}
	return out
}

// Piece is the text of one token; control tokens have none.
func Piece(token int32) string {
	switch {
	case token >= firstPiece && token < VocabSize:
		return pieces[token-firstPiece]
	case token >= firstByte && token < firstPiece:
		return string([]byte{byte(token - firstByte)})
	}
	return ""
}

// Decode joins the text of tokens.
func Decode(tokens []int32) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(Piece(t))
	}
	return b.String()
}

// Message is one turn of a chat.
type Message struct{ Role, Content string }

// EncodeChat lays a conversation out as the model's template wants it: each
// message opened by its role and closed, then the opening of the answer.
// Unknown roles are read as the user's.
func EncodeChat(messages []Message) []int32 {
	var out []int32
	for _, m := range messages {
		role := roleUser
		switch m.Role {
		case "system", "developer":
			role = roleSystem
		case "assistant":
			role = roleAssistant
		case "tool":
			role = roleTool
		}
		out = append(out, role)
		out = append(out, Encode(m.Content)...)
		out = append(out, roleEnd)
	}
	return append(out, roleAssistant)
}
