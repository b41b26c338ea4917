// Builds the page: one script with its worker inside, one style sheet. Nothing is done where no source has changed.
//   node packages/studio/build.mjs
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const here = fileURLToPath(new URL('.', import.meta.url));
const grpo = join(here, '../grpo');
const dist = join(here, 'dist');

/** What stands in the page for a module of Node. */
const STAND_INS = {
  fs: 'fs',
  zlib: 'zlib',
  buffer: 'buffer',
  util: 'util',
  'timers/promises': 'timers',
  crypto: 'absent',
  url: 'absent',
  v8: 'absent',
};
const alias = [
  ...Object.entries(STAND_INS).map(([name, file]) => ({
    find: `node:${name}`,
    replacement: join(here, `src/node/${file}.ts`),
  })),
  { find: 'node:path', replacement: 'pathe' },
  { find: 'hysnappy', replacement: join(here, 'src/node/hysnappy.ts') },
];

/** A module of Node without a stand-in would fail in the browser only. */
const onlyStandIns = {
  name: 'only-stand-ins',
  enforce: 'pre',
  resolveId(source, importer) {
    if (source.startsWith('node:') && !alias.some(({ find }) => find === source))
      this.error(`${importer} uses ${source}, for which the page has nothing`);
  },
};

const filesOf = (folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile() && !/\.test\.|\.map$|\.d\.ts$/.test(file))
    .sort();

function stampOf() {
  const hash = createHash('sha256');
  const rooms = ['studio', 'view', 'doctor', 'trace', 'formats', 'config', 'errors', 'maths', 'progress'];
  const files = [
    join(here, 'build.mjs'),
    join(here, 'index.html'),
    ...filesOf(join(here, 'src')),
    ...rooms.flatMap((room) => filesOf(join(grpo, 'dist', room))),
  ];
  for (const file of files) hash.update(`${file.slice(here.length)}\0`).update(readFileSync(file));
  return hash.digest('hex');
}

const stampFile = join(dist, '.stamp');
const stamp = stampOf();
if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp) {
  const plugins = () => [onlyStandIns];
  await build({
    root: here,
    configFile: false,
    logLevel: 'warn',
    plugins: plugins(),
    resolve: { alias },
    define: { 'process.env.NODE_ENV': '"production"' },
    worker: { format: 'iife', plugins },
    build: {
      outDir: dist,
      emptyOutDir: true,
      target: 'es2022',
      // How long which plugin took concerns nobody who sets the project up.
      rolldownOptions: { checks: { bundlerTimings: false, pluginTimings: false } },
      lib: {
        entry: join(here, 'src/main.tsx'),
        formats: ['iife'],
        name: 'studio',
        fileName: () => 'page.js',
        cssFileName: 'page',
      },
    },
  });
  copyFileSync(join(here, 'index.html'), join(dist, 'index.html'));
  writeFileSync(stampFile, stamp);
}
