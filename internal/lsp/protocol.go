package lsp

import "encoding/json"

// The messages of the protocol, as far as they are spoken here: version 3.17. Lines and characters
// count from 0; characters in the units that were agreed on at the start.

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type textRange struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type location struct {
	URI   string    `json:"uri"`
	Range textRange `json:"range"`
}

type textEdit struct {
	Range   textRange `json:"range"`
	NewText string    `json:"newText"`
}

type workspaceEdit struct {
	Changes map[string][]textEdit `json:"changes"`
}

// onDocument is what all requests about a document have.
type onDocument struct {
	TextDocument struct {
		URI string `json:"uri"`
	} `json:"textDocument"`
}

func (p onDocument) uri() string { return p.TextDocument.URI }

// atPosition is what requests about a place in a document have.
type atPosition struct {
	onDocument
	Position position `json:"position"`
}

type initializeParams struct {
	RootURI          string `json:"rootUri"`
	WorkspaceFolders []struct {
		URI string `json:"uri"`
	} `json:"workspaceFolders"`
	Capabilities struct {
		General struct {
			PositionEncodings []string `json:"positionEncodings"`
		} `json:"general"`
	} `json:"capabilities"`
}

type initializeResult struct {
	Capabilities serverCapabilities `json:"capabilities"`
	ServerInfo   serverInfo         `json:"serverInfo"`
}

type serverInfo struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type serverCapabilities struct {
	PositionEncoding           string                `json:"positionEncoding"`
	TextDocumentSync           textDocumentSync      `json:"textDocumentSync"`
	CompletionProvider         completionOptions     `json:"completionProvider"`
	HoverProvider              bool                  `json:"hoverProvider"`
	SignatureHelpProvider      signatureOptions      `json:"signatureHelpProvider"`
	DefinitionProvider         bool                  `json:"definitionProvider"`
	ReferencesProvider         bool                  `json:"referencesProvider"`
	DocumentHighlightProvider  bool                  `json:"documentHighlightProvider"`
	RenameProvider             renameOptions         `json:"renameProvider"`
	FoldingRangeProvider       bool                  `json:"foldingRangeProvider"`
	DocumentSymbolProvider     bool                  `json:"documentSymbolProvider"`
	SemanticTokensProvider     semanticTokensOptions `json:"semanticTokensProvider"`
	CodeActionProvider         codeActionOptions     `json:"codeActionProvider"`
	DocumentFormattingProvider bool                  `json:"documentFormattingProvider"`
}

type textDocumentSync struct {
	OpenClose bool `json:"openClose"`
	Change    int  `json:"change"`
}

// syncIncremental says that changes may be parts of a document. Whole ones are taken too.
const syncIncremental = 2

type completionOptions struct {
	TriggerCharacters []string `json:"triggerCharacters"`
}

type signatureOptions struct {
	TriggerCharacters   []string `json:"triggerCharacters"`
	RetriggerCharacters []string `json:"retriggerCharacters"`
}

type renameOptions struct {
	PrepareProvider bool `json:"prepareProvider"`
}

type semanticTokensOptions struct {
	Legend semanticLegend `json:"legend"`
	Full   bool           `json:"full"`
}

type semanticLegend struct {
	TokenTypes     []string `json:"tokenTypes"`
	TokenModifiers []string `json:"tokenModifiers"`
}

type codeActionOptions struct {
	CodeActionKinds []string `json:"codeActionKinds"`
}

type didOpenParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
		Text    string `json:"text"`
	} `json:"textDocument"`
}

type didChangeParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
	} `json:"textDocument"`
	ContentChanges []contentChange `json:"contentChanges"`
}

func (p didChangeParams) uri() string { return p.TextDocument.URI }

// contentChange is the new text of a part of a document, or of all of it.
type contentChange struct {
	Range *textRange `json:"range"`
	Text  string     `json:"text"`
}

type publishDiagnosticsParams struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version,omitempty"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type diagnostic struct {
	Range    textRange `json:"range"`
	Severity int       `json:"severity"`
	Code     string    `json:"code,omitempty"`
	Source   string    `json:"source"`
	Message  string    `json:"message"`
}

// The severities of a diagnostic.
const (
	severityError   = 1
	severityWarning = 2
)

type completionList struct {
	IsIncomplete bool             `json:"isIncomplete"`
	Items        []completionItem `json:"items"`
}

// completionItem has no filterText: its label is what is typed, and Neovim looks at no textEdit where there
// is one.
type completionItem struct {
	Label         string         `json:"label"`
	Kind          int            `json:"kind,omitempty"`
	Detail        string         `json:"detail,omitempty"`
	Documentation *markupContent `json:"documentation,omitempty"`
	SortText      string         `json:"sortText,omitempty"`
	TextEdit      textEdit       `json:"textEdit"`
}

type markupContent struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

func markdown(text string) markupContent { return markupContent{"markdown", text} }

type hoverResult struct {
	Contents markupContent `json:"contents"`
	Range    textRange     `json:"range"`
}

type signatureHelp struct {
	Signatures      []signatureInformation `json:"signatures"`
	ActiveSignature int                    `json:"activeSignature"`
	ActiveParameter int                    `json:"activeParameter"`
}

type signatureInformation struct {
	Label         string                 `json:"label"`
	Documentation *markupContent         `json:"documentation,omitempty"`
	Parameters    []parameterInformation `json:"parameters,omitempty"`
}

type parameterInformation struct {
	Label string `json:"label"`
}

type referenceParams struct {
	atPosition
	Context struct {
		IncludeDeclaration bool `json:"includeDeclaration"`
	} `json:"context"`
}

type documentHighlight struct {
	Range textRange `json:"range"`
}

type renameParams struct {
	atPosition
	NewName string `json:"newName"`
}

type prepareRenameResult struct {
	Range       textRange `json:"range"`
	Placeholder string    `json:"placeholder"`
}

type foldingRange struct {
	StartLine int    `json:"startLine"`
	EndLine   int    `json:"endLine"`
	Kind      string `json:"kind,omitempty"`
}

type documentSymbol struct {
	Name           string           `json:"name"`
	Detail         string           `json:"detail,omitempty"`
	Kind           int              `json:"kind"`
	Range          textRange        `json:"range"`
	SelectionRange textRange        `json:"selectionRange"`
	Children       []documentSymbol `json:"children,omitempty"`
}

type semanticTokens struct {
	Data []int `json:"data"`
}

type codeActionParams struct {
	onDocument
	Range   textRange `json:"range"`
	Context struct {
		Only []string `json:"only"`
	} `json:"context"`
}

type codeAction struct {
	Title       string         `json:"title"`
	Kind        string         `json:"kind"`
	Diagnostics []diagnostic   `json:"diagnostics"`
	Edit        *workspaceEdit `json:"edit"`
}

type cancelParams struct {
	ID json.RawMessage `json:"id"`
}

// response is the answer to a request: a result or an error.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// notification is what the server says without being asked.
type notification struct {
	Version string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}
