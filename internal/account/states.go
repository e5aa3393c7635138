package account

// States seals what accounts' jobs keep: requests, journals, states of scripts.
type States struct{ vault *Vault }

// States returns what seals under the master key.
func (s *Service) States() States { return States{s.vault} }

// Seal encrypts what a job of an account keeps under a name.
func (s States) Seal(id ID, name string, plain []byte) ([]byte, error) {
	return s.vault.Seal(id, SealSnapshot, name, plain)
}

// Token makes a token of 256 bits that nobody can guess who does not have the master
// key. It is the same for the same account and name.
func (s States) Token(id ID, name string) string { return s.vault.token(id, name) }

// Open decrypts what Seal made for the same account and name.
func (s States) Open(id ID, name string, sealed []byte) ([]byte, error) {
	return s.vault.Open(id, SealSnapshot, name, sealed)
}
