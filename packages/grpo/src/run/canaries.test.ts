import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { type TrainOptions, train } from '../library/run.js';
import type { RewardFunction, RewardValue } from '../rewards/index.js';
import { judge } from '../rewards/index.js';
import { judgeServer, score } from '../rewards/judge/server.test.helper.js';
import { defineTask } from '../tasks/define.js';
import { AGAIN, CANARY } from '../trace/index.js';
import { remainsOf, run } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

type Rewards = Parameters<typeof defineTask<string>>[0]['rewards'];

const LETTERS = [...'abcdefghij'];

/** On 8 rows 9 kinds, and the gold twice more. */
const CANARIES = 8 * 11;

const lettersTask = (rewards: Rewards) =>
  defineTask({
    name: 'letters',
    rows: LETTERS,
    prompt: (row) => `${row}?`,
    demonstration: (row) => `<answer>${row}</answer>`,
    isCorrect: (text, row) => text === `<answer>${row}</answer>`,
    rewards,
  });

/** What a run of a few steps leaves. */
async function left(rewards: Rewards, settings: TrainOptions['settings'] = {}) {
  const output = join(tempFolder(), 'run');
  const notes: string[] = [];
  await train({
    model: await tinyModelFolder(),
    task: lettersTask(rewards),
    output,
    settings: {
      rollout: { prompts: 2, group: 2, maxNewTokens: 4 },
      train: { steps: 1 },
      eval: { before: false, limit: 1, samples: 0 },
      ...settings,
    },
    onNote: (text) => notes.push(text),
  });
  const record = (step: number) =>
    JSON.parse(readFileSync(join(output, 'steps', `${step}`.padStart(6, '0'), 'step.json'), 'utf8'));
  return { notes: notes.join('\n'), record };
}

const right = (text: string, row: string): RewardValue => Number(text === `<answer>${row}</answer>`);

describe('a run', () => {
  it('has canaries in the record of its first step, and nothing to say where all is well', async () => {
    const { notes, record } = await left({ right });
    const { canaries } = record(1).probes;
    expect(notes).not.toMatch(/canar/);
    // Its answers are no numbers.
    const kinds = Object.values(CANARY).filter((kind) => kind !== CANARY.smaller && kind !== CANARY.larger);
    expect(new Set(canaries.map(({ kind }: { kind: string }) => kind))).toEqual(new Set([...kinds, AGAIN]));
    // 8 rows of 9 kinds, and the gold again.
    expect(canaries).toHaveLength(80);
    expect(canaries[0]).toEqual({ kind: 'gold', reward: 'total', row: 0, value: 1, least: 0.01 });
    expect(canaries[1]).toEqual({ kind: 'empty', reward: 'total', row: 0, value: 0, most: 0.99 });
    expect(JSON.stringify(canaries).length).toBeLessThan(7000);
  });

  it.each<[string, (text: string, row: string) => RewardValue, RegExp]>([
    [
      'pays blanks',
      (text, row) => ({ value: Number(`<answer>${row}</answer>`.includes(text.trim())), rule: 'contained' }),
      /step 1: B26\.canary warn: 24 of 56 .*: "empty, white space, newline" \(pay: contained\)/,
    ],
    [
      'does not look at the row',
      (text) => Number(/^<answer>\w<\/answer>$/.test(text)),
      /step 1: B21\.canary warn: On 8 of 8 rows the right answer of another row earned .* own \(pay\)/,
    ],
    [
      'accepts all options at once',
      (text, row) => Number(text.length < 200 && /<answer>(.*)</.exec(text)?.[1]?.includes(row) === true),
      /^step 1: B26\.canary warn: 8 of 56 .*: "all options" \(pay\)\.$/,
    ],
    ['is constant', () => 0.5, /step 1: B20\.canary warn: All 72 canaries earned exactly 0\.5/],
  ])('is told of a reward that %s', async (_, pay, words) => {
    const { notes } = await left({ pay });
    expect(notes).toMatch(words);
  });

  it('is told of a reward that fails on a canary, and goes on', async () => {
    const pay = (text: string, row: string) => {
      if (text.trim() === '') throw new TypeError('nothing to read');
      return right(text, row);
    };
    const { notes } = await left({ pay }, { onRewardError: 'drop' });
    expect(notes).toMatch(
      /rewards that fail on canaries: reward pay, completion 1: threw TypeError: nothing to read/,
    );
  });

  it('asks every so many steps, in the same batch as a step, and never with 0', async () => {
    const batches: number[] = [];
    const counted: RewardFunction<string> = ({ completions, rows }) => {
      batches.push(completions.length);
      return completions.map((text, i) => right(text, rows[i]!));
    };
    await left({ counted: { batch: counted } }, { train: { steps: 5, canaries: 2 } });
    expect(batches.filter((count) => count === CANARIES)).toHaveLength(3);
    expect(batches[0]).toBe(CANARIES);
    batches.length = 0;
    const { record } = await left({ counted: { batch: counted } }, { train: { steps: 1, canaries: 0 } });
    expect(batches).not.toContain(CANARIES);
    expect(record(1).probes.canaries).toBeUndefined();
  });

  it('asks no judge, and says so', async () => {
    const { baseURL, asked } = await judgeServer((response) => score(response, 0.5));
    using kindness = await judge({ baseURL, model: 'm', prompt: '{completion}' });
    const { notes, record } = await left({ kindness, right });
    expect(notes).toMatch(
      /checked with canaries, except kindness, which asks a server; grpo reward check includes it/,
    );
    // The completions of the preflight and of the step, and one of the evaluation.
    expect(asked.length).toBeLessThanOrEqual(9);
    const names = record(1).probes.canaries.map(({ reward }: { reward: string }) => reward);
    expect(new Set(names)).toEqual(new Set(['part of the total', 'right']));
  });
});

it('a resumed run is the one that was never stopped, canaries and all', async () => {
  const root = tempFolder();
  const model = await tinyModelFolder();
  const settings = [`model=${model}`, 'train.canaries=2', 'record.every=1'];
  const at = (name: string) => ({ output: join(root, name), settings });
  await run(at('whole'));
  await run({ ...at('stopped'), stopAfter: 5 });
  await run({ ...at('stopped'), resume: true });
  expect(remainsOf(join(root, 'stopped'))).toEqual(remainsOf(join(root, 'whole')));
  const canariesOf = (name: string, step: number) =>
    JSON.parse(readFileSync(join(root, name, 'steps', `00000${step}`, 'step.json'), 'utf8')).probes?.canaries;
  for (const step of [1, 3, 5, 7]) {
    expect(canariesOf('whole', step).length).toBeGreaterThanOrEqual(72);
    expect(canariesOf('stopped', step)).toEqual(canariesOf('whole', step));
  }
  expect(canariesOf('whole', 6)).toBeUndefined();
});
