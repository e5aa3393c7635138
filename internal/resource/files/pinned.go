package files

// Pinned returns content that was noted earlier, to be read: what a link to a
// file hands out, whatever has become of the file since.
func (t *Trees) Pinned(chunks []Chunk, tail []byte) *Content {
	n := &Node{Chunks: chunks, Tail: tail, Size: int64(len(tail))}
	for _, c := range chunks {
		n.Size += c.Size
	}
	return t.contentOf(n)
}
