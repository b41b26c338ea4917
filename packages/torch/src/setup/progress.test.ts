import { expect, it } from 'vitest';
import { startProgress } from './progress.js';
import { type Say, speaker } from './say.js';

it('is a line for every tenth where there is no terminal', () => {
  const said: string[] = [];
  const progress = startProgress((line) => said.push(line));
  for (let have = 40e6; have <= 200e6; have += 5e6) progress.show(have, 200e6);
  progress.end();
  expect(said).toHaveLength(8);
  expect(said[0]).toBe('   30 %  60 of 200 MB');
  expect(said.at(-1)).toBe('  100 %  200 of 200 MB');
});

it('counts megabytes where the size is unknown', () => {
  const said: string[] = [];
  const progress = startProgress((line) => said.push(line));
  for (let have = 0; have <= 120e6; have += 10e6) progress.show(have);
  expect(said).toEqual(['  50 MB', '  100 MB']);
});

it('is one line on a terminal, redrawn now and then, and taken away', () => {
  const over: string[] = [];
  const say: Say = () => expect.unreachable();
  say.over = (line) => over.push(line);
  let time = 1_000;
  const progress = startProgress(say, () => time);
  for (let have = 1e6; have <= 4e6; have += 1e6) {
    progress.show(have, 4e6);
    time += 150;
  }
  progress.end();
  expect(over).toEqual(['   25 %  1 of 4 MB', '   75 %  3 of 4 MB', '  100 %  4 of 4 MB', '']);
});

it('leaves no rest of a line on the terminal', () => {
  let text = '';
  const stream = (isTTY: boolean) =>
    ({ isTTY, write: (chunk: string) => (text += chunk) }) as unknown as NodeJS.WriteStream;
  const say = speaker(stream(true));
  say.over?.('half');
  say('done');
  expect(text).toBe('\r\x1b[Khalf\r\x1b[Kdone\n');
  expect(speaker(stream(false)).over).toBeUndefined();
  expect(speaker(undefined).over).toBeUndefined();
});
