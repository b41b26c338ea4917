import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempFolder } from '../../../formats/temp-folder.test.helper.js';

/**
 * A program that speaks UCI and knows nothing of chess: its moves are e2e4 and d2d4, worth 30 and 20, or 50 where
 * Black moves.
 *
 * @param onGo - JavaScript that runs at each `go`; `fen` is the position, `go` the number of this one over all
 * processes, `say(...lines)` prints and `answer()` answers as usual
 * @returns its path, and how often it was asked and started
 */
export function fakeEngine(onGo = 'answer();', onUci = "say('id name fake', 'uciok');") {
  const dir = tempFolder();
  const path = join(dir, 'engine');
  const count = (name: string) => readFileSync(join(dir, name), 'utf8').length;
  for (const name of ['asked', 'started']) writeFileSync(join(dir, name), '');
  writeFileSync(
    path,
    `#!${process.execPath}
const { appendFileSync, readFileSync } = require('node:fs');
const note = (name) => {
  appendFileSync(${JSON.stringify(dir)} + '/' + name, '.');
  return readFileSync(${JSON.stringify(dir)} + '/' + name).length;
};
const say = (...lines) => console.log(lines.join('\\n'));
let fen = '';
let lines = 1;
note('started');
const answer = () => {
  const black = fen.split(' ')[1] === 'b';
  say('info depth 1 multipv 1 score cp 999 pv a2a3');
  say('info depth 2 multipv 1 score cp ' + (black ? 50 : 30) + ' nodes 1 pv e2e4 e7e5');
  if (lines > 1) say('info depth 2 multipv 2 score cp 20 nodes 1 pv d2d4');
  say('bestmove e2e4');
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'uci') { ${onUci} }
  if (line === 'isready') say('readyok');
  if (line.startsWith('setoption name MultiPV')) lines = Number(line.split(' ').at(-1));
  if (line.startsWith('position fen ')) fen = line.slice(13);
  if (line.startsWith('go')) { const go = note('asked'); ${onGo} }
}).on('close', () => process.exit(0));
`,
  );
  chmodSync(path, 0o755);
  return { path, asked: () => count('asked'), started: () => count('started') };
}
