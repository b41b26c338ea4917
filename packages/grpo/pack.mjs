/** Leaves out of the tarball, before it is packed, the types that no entry point leads to: npm reads `.npmignore` files. */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';

const dist = join(import.meta.dirname, 'dist');
const { exports: entryPoints } = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8'));

const reached = new Set(Object.values(entryPoints).map(({ types }) => join(import.meta.dirname, types)));
// A set that grows is walked to its end.
for (const file of reached) {
  for (const { fileName } of ts.preProcessFile(readFileSync(file, 'utf8')).importedFiles) {
    if (fileName.startsWith('.')) reached.add(join(dirname(file), fileName.replace(/\.js$/, '.d.ts')));
  }
}
const kept = [...reached].map((file) => `!/${relative(dist, file)}\n`);
writeFileSync(join(dist, '.npmignore'), `*.d.ts\n${kept.join('')}`);
