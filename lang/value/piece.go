package value

// mostInPiece is how many entries or elements may be in one piece of memory with their map or list: a map of so many needs
// no index.
const mostInPiece = smallMap

// together is a map or list, and what is in it.
type together[H, R any] struct {
	head H
	room R
}

// onePiece allocates a map or list together with room for n entries or elements, 1 to mostInPiece.
func onePiece[H, E any](n int) (*H, []E) {
	switch n {
	case 1:
		p := new(together[H, [1]E])
		return &p.head, p.room[:]
	case 2:
		p := new(together[H, [2]E])
		return &p.head, p.room[:]
	case 3:
		p := new(together[H, [3]E])
		return &p.head, p.room[:]
	case 4:
		p := new(together[H, [4]E])
		return &p.head, p.room[:]
	case 5:
		p := new(together[H, [5]E])
		return &p.head, p.room[:]
	case 6:
		p := new(together[H, [6]E])
		return &p.head, p.room[:]
	case 7:
		p := new(together[H, [7]E])
		return &p.head, p.room[:]
	}
	p := new(together[H, [mostInPiece]E])
	return &p.head, p.room[:]
}
