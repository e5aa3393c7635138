package files

import "slices"

// maxCompaction is the most that chunks hold which are joined: so much more is on the
// disk while they are.
const maxCompaction = 12 << 20

// A file that grows by appends gets a chunk for every full tail. So that it is
// not a file of thousands of them, the last ones are joined to larger ones as
// they come to a size: every byte is written three times at most.
var compactions = []struct {
	below int64 // chunks of less than this
	from  int64 // are joined when they have this many bytes together
}{
	{512 << 10, 1 << 20},
	{4 << 20, 8 << 20},
}

// compact returns what chunks that are added to those of a file become: how many
// of the file's last ones go, and what comes in their place, which is pinned.
func (b *Blobs) compact(old, added []Chunk, p *pin) (replace int, chunks []Chunk, err error) {
	all := slices.Concat(old, added)
	unchanged := len(old) // of old, in all
	for _, rule := range compactions {
		first, size := len(all), int64(0)
		for first > 0 && all[first-1].Size < rule.below {
			first--
			size += all[first].Size
		}
		if size < rule.from || len(all)-first < 2 {
			continue
		}
		content := make([]byte, 0, size)
		for _, chunk := range all[first:] {
			if content, err = b.read(chunk, content); err != nil {
				return 0, nil, err
			}
		}
		whole, err := b.put(content, p)
		if err != nil {
			return 0, nil, err
		}
		all = append(all[:first], whole)
		unchanged = min(unchanged, first)
	}
	return len(old) - unchanged, all[unchanged:], nil
}
