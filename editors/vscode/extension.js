// The extension starts `ql lsp` and connects the editor to it. All that it knows of the language is
// there and in the grammar beside this file.
'use strict';

const vscode = require('vscode');
const { LanguageClient, TransportKind } = require('vscode-languageclient/node');

let client;

// serverOptions says how the server is started: in the folder that is open, or on the account's
// folder that the settings name.
function serverOptions() {
  const settings = vscode.workspace.getConfiguration('ql');
  const data = settings.get('data');
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const cwd = folder?.scheme === 'file' ? folder.fsPath : undefined;
  return {
    command: settings.get('command') || 'ql',
    args: data ? ['lsp', '--data', data] : ['lsp'],
    transport: TransportKind.stdio,
    options: { cwd },
  };
}

async function start() {
  client = new LanguageClient('ql', 'ql', serverOptions(), {
    documentSelector: [{ language: 'ql', scheme: 'file' }, { language: 'ql', scheme: 'untitled' }],
  });
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(`ql: the language server did not start (${error.message}). The setting ql.command says which program it is.`);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running?.isRunning()) {
    await running.stop();
  }
}

async function activate(context) {
  context.subscriptions.push(vscode.workspace.onDidChangeConfiguration(async (change) => {
    if (change.affectsConfiguration('ql')) {
      await stop();
      await start();
    }
  }));
  await start();
}

module.exports = { activate, deactivate: stop };
