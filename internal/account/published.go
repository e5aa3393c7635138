package account

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"

	"ql/internal/account/names"
	"ql/internal/fault"
	"ql/lang/source"
)

// Publish lets pages of the account's published-only domains send a script.
func (s *Service) Publish(ctx context.Context, name, script, text string) (Published, error) {
	if !names.IsName(script) {
		return Published{}, fault.Invalid("name", "%v", names.ErrName)
	}
	p := Published{Name: script, Hash: HashScript(text), Added: s.now()}
	err := s.with(ctx, name, func(a Account) error {
		if most := s.o.Limits(a.LimitPlan()).ScriptBytes; len(text) > most {
			return fault.New(fault.TooLarge, "the script has %d bytes: the account's plan allows %d", len(text), most)
		}
		p.Account = a.ID
		return s.store.Publish(ctx, p)
	})
	return p, err
}

// HashScript is how a published script is known: by its text as the language takes
// it, with one line break at the end. Editors, browsers and version control change
// line ends, and mean the same script.
func HashScript(text string) ScriptHash { return sha256.Sum256([]byte(ended(text) + "\n")) }

// ended is a text as the language takes it, without line breaks at the end.
func ended(text string) string { return strings.TrimRight(source.Normalise(text), "\n") }

// ScriptHashes are all by which a script may have been published: earlier versions
// took the hash of the text as it was.
func ScriptHashes(text string) []ScriptHash {
	hashes := []ScriptHash{HashScript(text)}
	for _, earlier := range []string{text, ended(text)} {
		if h := ScriptHash(sha256.Sum256([]byte(earlier))); !slices.Contains(hashes, h) {
			hashes = append(hashes, h)
		}
	}
	return hashes
}

// Unpublish takes a script back.
func (s *Service) Unpublish(ctx context.Context, name, script string) error {
	return s.with(ctx, name, func(a Account) error {
		return missing(s.store.Unpublish(ctx, a.ID, script), "the account has published no script %q", script)
	})
}

// PublishedScripts returns what the account has published.
func (s *Service) PublishedScripts(ctx context.Context, name string) ([]Published, error) {
	a, err := s.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.store.PublishedScripts(ctx, a.ID)
}
