// Drives `ql lsp` by the client library that editors use. The arguments are the program and the folder
// that it works in, which has a database main with a table people (name, born).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import path from 'node:path';
import protocol from 'vscode-languageserver-protocol/node.js';

const [program, folder] = process.argv.slice(2);
const server = spawn(program, ['lsp'], { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] });
const ended = new Promise((resolve) => server.on('exit', resolve));
const connection = protocol.createProtocolConnection(
  new protocol.StreamMessageReader(server.stdout), new protocol.StreamMessageWriter(server.stdin));

// Diagnostics come when the server has looked at a version of the document.
const told = new Map();
const waiting = new Map();
connection.onNotification(protocol.PublishDiagnosticsNotification.type, (p) => {
  told.set(p.version, p.diagnostics);
  waiting.get(p.version)?.(p.diagnostics);
});
const diagnosticsOf = (version) => told.has(version) ? told.get(version) : new Promise((resolve) => waiting.set(version, resolve));
connection.listen();

const initialized = await connection.sendRequest(protocol.InitializeRequest.type, {
  processId: process.pid,
  rootUri: pathToFileURL(folder).href,
  capabilities: { general: { positionEncodings: ['utf-16'] } },
});
assert.equal(initialized.capabilities.positionEncoding, 'utf-16');
await connection.sendNotification(protocol.InitializedNotification.type, {});

const textDocument = { uri: pathToFileURL(path.join(folder, 'people.ql')).href };
const first = '-- 😀\nset ?who as "Ada"\nEMIT ?woh\n';
await connection.sendNotification(protocol.DidOpenTextDocumentNotification.type, {
  textDocument: { ...textDocument, languageId: 'ql', version: 1, text: first },
});
const mistakes = await diagnosticsOf(1);
assert.equal(mistakes.length, 1);
assert.match(mistakes[0].message, /\?woh/);
assert.deepEqual(mistakes[0].range, { start: { line: 2, character: 5 }, end: { line: 2, character: 9 } });

// The fix of the mistake, applied as a change of a part.
const actions = await connection.sendRequest(protocol.CodeActionRequest.type, {
  textDocument, range: mistakes[0].range, context: { diagnostics: mistakes },
});
const edit = actions[0].edit.changes[textDocument.uri][0];
assert.equal(edit.newText, '?who');
await connection.sendNotification(protocol.DidChangeTextDocumentNotification.type, {
  textDocument: { ...textDocument, version: 2 },
  contentChanges: [{ range: edit.range, text: edit.newText }],
});
assert.deepEqual(await diagnosticsOf(2), []);

const renamed = await connection.sendRequest(protocol.RenameRequest.type, {
  textDocument, position: { line: 2, character: 7 }, newName: '?name',
});
assert.equal(renamed.changes[textDocument.uri].length, 2);

const formatted = await connection.sendRequest(protocol.DocumentFormattingRequest.type, {
  textDocument, options: { tabSize: 2, insertSpaces: true },
});
assert.equal(formatted.length, 1);
assert.match(formatted[0].newText, /SET \?who AS "Ada"/);

// Columns of the real table.
await connection.sendNotification(protocol.DidChangeTextDocumentNotification.type, {
  textDocument: { ...textDocument, version: 3 }, contentChanges: [{ text: 'SELECT  FROM people SET ?rows\n' }],
});
const completed = await connection.sendRequest(protocol.CompletionRequest.type, { textDocument, position: { line: 0, character: 7 } });
const labels = completed.items.map((item) => item.label);
assert.ok(labels.includes('name') && labels.includes('born'), `no columns among ${labels}`);

await assert.rejects(connection.sendRequest('textDocument/unheardOf', {}), { code: protocol.ErrorCodes.MethodNotFound });

await connection.sendRequest(protocol.ShutdownRequest.type);
await connection.sendNotification(protocol.ExitNotification.type);
assert.equal(await ended, 0);
