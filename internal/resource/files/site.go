package files

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"ql/internal/account"
	"ql/lang/value"
)

// SiteFolder is the folder of an account's site.
const SiteFolder = "/site"

const (
	// MaxReleases is how many releases of a site are kept: the current one and those before.
	MaxReleases = 20
	// MaxSiteFiles is how many files a site has that is deployed.
	MaxSiteFiles = 2_000
	// maxReplaced is how many files and folders a deploy looks at that are there already.
	maxReplaced = 20_000
	// releaseRow is what a file of a release takes in the store, besides its path.
	releaseRow = 128
)

// Release is the folder of a site as a deploy left it.
type Release struct {
	Number   int64 // from 1 on; 0 for none
	Made     time.Time
	By       string // the credential by which it was made
	Key      string // the name of the named key, "" for others
	Restored int64  // the release that it brought back, 0 for none
	Files    int64
	Bytes    int64
}

// SiteFile is a file of a site.
type SiteFile struct {
	Path    string // canonical, below SiteFolder
	Content Hash   // the SHA-256 of all of its content
}

// Manifest is all that a site is to have.
type Manifest struct {
	files   []SiteFile      // by path
	folders map[string]bool // all that they stand in
	keys    map[string]int  // the index of a file by its key
}

// NewManifest makes a manifest of files, whose paths are relative to the folder of the site. An
// error names the path that does not fit.
func NewManifest(contents map[string]Hash) (*Manifest, error) {
	if len(contents) > MaxSiteFiles {
		return nil, value.Exceeded("site_files", MaxSiteFiles, "the site would have %d files, and a site has %d at most", len(contents), MaxSiteFiles)
	}
	m := &Manifest{folders: map[string]bool{SiteFolder: true}, keys: make(map[string]int, len(contents))}
	for name, content := range contents {
		if strings.HasPrefix(name, "/") {
			return nil, refuse(name, "paths of a site are relative, such as css/look.css")
		}
		at, err := Canonical(SiteFolder + "/" + name)
		if err == nil {
			err = refuseReserved(at, "", temporaryKey)
		}
		if err != nil {
			return nil, err
		}
		m.files = append(m.files, SiteFile{at, content})
	}
	slices.SortFunc(m.files, func(a, b SiteFile) int { return strings.Compare(a.Path, b.Path) })
	names := map[string]string{} // of folders, by their keys
	for i, f := range m.files {
		key := Key(f.Path)
		if other, ok := m.keys[key]; ok {
			return nil, refuse(f.Path, fmt.Sprintf("%s is there too, which is the same name on some systems", value.Quote(m.files[other].Path)))
		}
		m.keys[key] = i
		for folder := path.Dir(f.Path); !m.folders[folder]; folder = path.Dir(folder) {
			key := Key(folder)
			if other, ok := names[key]; ok {
				return nil, refuse(f.Path, fmt.Sprintf("there is a folder %s too, which is the same name on some systems", value.Quote(other)))
			}
			m.folders[folder], names[key] = true, folder
		}
	}
	for key, folder := range names {
		if _, ok := m.keys[key]; ok {
			return nil, refuse(folder, "it is a file, and other files stand in a folder of this name")
		}
	}
	return m, nil
}

// At returns the file with a key.
func (m *Manifest) At(key string) (f SiteFile, ok bool) {
	i, ok := m.keys[key]
	if ok {
		f = m.files[i]
	}
	return f, ok
}

// Files returns the files by path. They are not to be changed.
func (m *Manifest) Files() []SiteFile { return m.files }

// weight is what the rows of a release take.
func (m *Manifest) weight() int64 {
	n := int64(0)
	for _, f := range m.files {
		n += releaseRow + 3*int64(len(f.Path)) // the path, its key, and that of its folder
	}
	for folder := range m.folders {
		n += releaseRow + 3*int64(len(folder))
	}
	return n
}

// SiteNode is what is in the folder of a site, for who compares.
type SiteNode struct {
	Path   string
	Folder bool
	Size   int64
	Tail   int64 // how many bytes of it are in its row
	Same   bool  // it is a file as the manifest has it
}

// SiteSource is content that a site has, or that was sent for it.
type SiteSource struct {
	Size, Tail int64 // as in SiteNode
	// Moves are the blobs of it that no file of the account has.
	Moves []Chunk
}

// SiteApply is a deploy as it is stored.
type SiteApply struct {
	Release Release // as it is to be; Number is that of the one before, plus one
	Weight  int64
	Files   []SiteFile // all of them
	Drop    []string   // paths that go, what is in a folder before the folder
	Make    []string   // folders that come, each before what is in it
	Put     []SiteFile // files that come, or change
}

// ErrNoRelease says that a site has no such release, or has it no more.
var ErrNoRelease = errors.New("the site has no such release any more")

// SiteStore stores the releases of sites. Content is found by the account that sent it alone: by a
// hash nobody learns what others have.
type SiteStore interface {
	// CurrentRelease returns the newest release; a zero one where there is none.
	CurrentRelease(ctx context.Context, a account.ID) (Release, error)
	// Releases returns up to limit releases, the newest first: those before a number, 0 for the newest.
	Releases(ctx context.Context, a account.ID, before int64, limit int) ([]Release, error)
	// ReleaseFiles returns the files of a release by path, or ErrNoRelease.
	ReleaseFiles(ctx context.Context, a account.ID, number int64) ([]SiteFile, error)

	// SiteContent returns content by its digest, without a path; nil where there is none.
	SiteContent(ctx context.Context, a account.ID, digest Hash) (*Node, error)
	// AddSiteContent adds content that was sent, unless it is there. It is ErrDeleting as Apply is.
	AddSiteContent(ctx context.Context, a account.ID, digest Hash, n Node) error
	// SiteSources returns what contents are, by their digests; those that are not there are left out.
	SiteSources(ctx context.Context, a account.ID, digests []Hash) (map[Hash]SiteSource, error)
	// CompareSite returns up to limit files and folders below SiteFolder, by key, compared with a
	// manifest as of one moment.
	CompareSite(ctx context.Context, a account.ID, m *Manifest, limit int) ([]SiteNode, error)
	// DeploySite makes the changes of a deploy, all or none, adds its release, and removes those that
	// are too many and the content that no release has. It sets the account's usage as Apply does, and
	// reports false where the tree, or the current release, is no longer the one of before.
	DeploySite(ctx context.Context, a account.ID, before, after Usage, d SiteApply) (bool, error)
	// DropOldestRelease removes the oldest release and what it alone has, and reports whether there
	// was one besides the current one and one that is to be kept.
	DropOldestRelease(ctx context.Context, a account.ID, keep int64) (bool, error)
	// DropStaged removes up to limit contents that were sent before a moment and that no release has,
	// and returns how many.
	DropStaged(ctx context.Context, before time.Time, limit int) (int, error)

	ReleaseReader
}

// ReleaseReader reads the folder of a site as a release has it, which is what the tree has while the
// release is the current one; 0 is that of a site without releases. Methods are ErrNoRelease where
// that is kept no more, and what one returns is as of one moment.
type ReleaseReader interface {
	// ContentAsOf is Content of what has a key.
	ContentAsOf(ctx context.Context, a account.ID, release int64, key string) (*Node, error)
	// FindAsOf is Find.
	FindAsOf(ctx context.Context, a account.ID, release int64, keys []string) ([]*Node, error)
	// ChildrenAsOf returns the folder with a key, and of what is in it what Children returns.
	ChildrenAsOf(ctx context.Context, a account.ID, release int64, key, after string, limit int) (folder *Node, children []Node, err error)
}
