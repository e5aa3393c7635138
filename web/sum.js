// Writes the sum of the sources that the output was built of beside it. A test of the Go package
// computes the same, so that nobody forgets to build.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const single = ['package-lock.json', 'package.json', 'svelte.config.js', 'tsconfig.json', 'vite.config.ts'];
const generated = 'src/lib/schema.d.ts';

function below(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((e) => {
    const path = `${folder}/${e.name}`;
    return e.isDirectory() ? below(path) : [path];
  });
}

const examples = readdirSync('../examples').filter((f) => f.endsWith('.ql')).map((f) => '../examples/' + f); // which the editor lists
const files = [...single, ...below('src'), ...examples].filter((f) => f !== generated).sort((a, b) => (a < b ? -1 : 1));
const sum = createHash('sha256');
for (const file of files) {
  sum.update(`${createHash('sha256').update(readFileSync(file)).digest('hex')}  ${file}\n`);
}
writeFileSync(join('../internal/server/dashboard/assets', 'source.sum'), sum.digest('hex') + '\n');
