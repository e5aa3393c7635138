package account

import "ql/internal/account/seal"

// Sealer seals what accounts' jobs store: requests, journals, snapshots.
type Sealer struct{ vault *seal.Vault }

// Sealer returns what seals under the master key.
func (s *Service) Sealer() Sealer { return Sealer{s.vault} }

// Seal encrypts what a job of an account stores under a name.
func (s Sealer) Seal(id ID, name string, plain []byte) ([]byte, error) {
	return s.vault.Seal(int64(id), seal.Snapshot, name, plain)
}

// Open decrypts what Seal made for the same account and name.
func (s Sealer) Open(id ID, name string, sealed []byte) ([]byte, error) {
	return s.vault.Open(int64(id), seal.Snapshot, name, sealed)
}

// SealMachineKey encrypts the private key of a machine of an account.
func (s Sealer) SealMachineKey(id ID, machine string, plain []byte) ([]byte, error) {
	return s.vault.Seal(int64(id), seal.Machine, machine, plain)
}

// OpenMachineKey decrypts what SealMachineKey made for the same account and machine.
func (s Sealer) OpenMachineKey(id ID, machine string, sealed []byte) ([]byte, error) {
	return s.vault.Open(int64(id), seal.Machine, machine, sealed)
}

// Token makes a token of 256 bits that nobody can guess who does not have the master
// key. It is the same for the same account and name.
func (s Sealer) Token(id ID, name string) string { return s.vault.Token(int64(id), name) }

// SealOutside encrypts what is handed to somebody outside, who brings it back, and OpenOutside
// decrypts that for the same account and name.
func (s Sealer) SealOutside(id ID, name string, plain []byte) []byte {
	return s.vault.SealOutside(int64(id), name, plain)
}

// OpenOutside is the reverse of SealOutside. Its error says that this was not sealed so.
func (s Sealer) OpenOutside(id ID, name string, sealed []byte) ([]byte, error) {
	return s.vault.OpenOutside(int64(id), name, sealed)
}
