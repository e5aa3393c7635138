package main

import (
	"archive/zip"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
)

// packed are the files of the extension that are installed: all that it needs, without a network.
var packed = []string{
	"package.json", "README.md", "language-configuration.json", "syntaxes/ql.tmLanguage.json", "dist/extension.js",
}

// contentTypes says of what kind the files of the package are, as its format wants it.
const contentTypes = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="json" ContentType="application/json"/><Default Extension="js" ContentType="application/javascript"/><Default Extension="md" ContentType="text/markdown"/><Default Extension="vsixmanifest" ContentType="text/xml"/></Types>
`

// The manifest of a package, which repeats what package.json says of the extension.
type (
	vsixManifest struct {
		XMLName      xml.Name     `xml:"http://schemas.microsoft.com/developer/vsx-schema/2011 PackageManifest"`
		Version      string       `xml:"Version,attr"`
		Metadata     vsixMetadata `xml:"Metadata"`
		Installation vsixTarget   `xml:"Installation>InstallationTarget"`
		Dependencies string       `xml:"Dependencies"`
		Assets       []vsixAsset  `xml:"Assets>Asset"`
	}
	vsixMetadata struct {
		Identity    vsixIdentity   `xml:"Identity"`
		DisplayName string         `xml:"DisplayName"`
		Description string         `xml:"Description"`
		Categories  string         `xml:"Categories"`
		Properties  []vsixProperty `xml:"Properties>Property"`
	}
	vsixIdentity struct {
		Language  string `xml:"Language,attr"`
		ID        string `xml:"Id,attr"`
		Version   string `xml:"Version,attr"`
		Publisher string `xml:"Publisher,attr"`
	}
	vsixProperty struct {
		ID    string `xml:"Id,attr"`
		Value string `xml:"Value,attr"`
	}
	vsixTarget struct {
		ID string `xml:"Id,attr"`
	}
	vsixAsset struct {
		Type        string `xml:"Type,attr"`
		Path        string `xml:"Path,attr"`
		Addressable bool   `xml:"Addressable,attr"`
	}
)

// description is what package.json says of an extension.
type description struct {
	Name        string            `json:"name"`
	DisplayName string            `json:"displayName"`
	Description string            `json:"description"`
	Version     string            `json:"version"`
	Publisher   string            `json:"publisher"`
	Main        string            `json:"main"`
	Engines     map[string]string `json:"engines"`
}

// pack writes the extension of a folder as a package that VS Code installs. The tool that is usual for
// that brings hundreds of others; a package is a ZIP archive with a manifest.
func pack(to io.Writer, folder fs.FS) error {
	text, err := fs.ReadFile(folder, "package.json")
	if err != nil {
		return err
	}
	var d description
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("package.json: %w", err)
	}
	manifest, err := xml.MarshalIndent(vsixManifest{
		Version: "2.0.0",
		Metadata: vsixMetadata{
			Identity:    vsixIdentity{"en-US", d.Name, d.Version, d.Publisher},
			DisplayName: d.DisplayName, Description: d.Description, Categories: "Programming Languages,Formatters",
			Properties: []vsixProperty{
				{"Microsoft.VisualStudio.Code.Engine", d.Engines["vscode"]},
				{"Microsoft.VisualStudio.Code.ExtensionKind", "workspace"},
			},
		},
		Installation: vsixTarget{"Microsoft.VisualStudio.Code"},
		Assets: []vsixAsset{
			{"Microsoft.VisualStudio.Code.Manifest", "extension/package.json", true},
			{"Microsoft.VisualStudio.Services.Content.Details", "extension/README.md", true},
		},
	}, "", "  ")
	if err != nil {
		return err
	}
	z := zip.NewWriter(to)
	add := func(name string, content []byte) error {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(content)
		}
		return err
	}
	if err := add("[Content_Types].xml", []byte(contentTypes)); err != nil {
		return err
	}
	if err := add("extension.vsixmanifest", append([]byte(xml.Header), manifest...)); err != nil {
		return err
	}
	for _, name := range packed {
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		if err := add("extension/"+name, content); err != nil {
			return err
		}
	}
	return z.Close()
}
