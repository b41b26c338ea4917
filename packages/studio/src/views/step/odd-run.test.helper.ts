/** A run folder whose steps have what views must show as what it is: failures, NaN, empty groups, replayed ones, texts only. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { richRecord } from '../../../../grpo/dist/doctor/rich-record.test.helper.js';
import { type StepRecord, writeStepRecord } from '../../../../grpo/dist/trace/index.js';

/** Completions of a record of the helper, in groups of 4. */
const B = 24;
const SHARED = 'Let us think about it step by step. ';

export function oddRecord(step: number): StepRecord {
  const record = richRecord({ step: 1, seed: step });
  const right = record.rewards!.values!.slice();
  const style = Float64Array.from({ length: B }, (_, b) => (b < 8 ? 0.5 : (b % 5) / 4));
  right[9] = Number.NaN;
  const totals = right.map((value, b) => value + 0.1 * style[b]!);
  const advantages = totals.map((total, b) => {
    const first = b - (b % 4);
    const own = [...totals.subarray(first, first + 4)].filter((one) => !Number.isNaN(one));
    const mean = own.reduce((sum, one) => sum + one, 0) / own.length;
    const deviation = Math.sqrt(own.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (own.length - 1));
    return b < 8 || Number.isNaN(total) ? 0 : (total - mean) / (deviation + 1e-4);
  });
  const texts = Array.from(
    { length: B },
    (_, b) =>
      `${SHARED}${b === 13 ? 'The needle is here. ' : ''}So step ${step} gives <answer>${b} apples</answer>`,
  );
  return {
    ...record,
    step,
    // The last prompt has no completions.
    prompts: {
      texts: [...record.prompts!.texts!, '<s><|user|>What is nothing?<|end|><|assistant|>'],
      answers: [...record.prompts!.answers!, null],
      replayed: Int32Array.of(0, 0, 0, Math.max(0, step - 1), 0, 0, 0),
    },
    completions: { ...record.completions!, texts, sampledTexts: texts },
    rewards: {
      ...record.rewards!,
      names: ['right', 'style'],
      weights: [1, 0.1],
      values: Float64Array.from([...right, ...style]),
      parts: [{ reward: 'style', part: 'brevity', values: style.map((value) => value / 2) }],
      rules: [
        Array.from({ length: B }, (_, b) => (b % 4 === 0 ? 'the same number' : 'another number')),
        Array<string | null>(B).fill(null),
      ],
      totals,
      failures: [{ reward: 'right', completion: 9, reason: 'the judge did not answer in 30 s' }],
    },
    advantages,
    stages: [
      { name: 'sample', seconds: 6, bytes: 1e6 },
      { name: 'score', seconds: 1, bytes: 1e6 },
      { name: 'update', seconds: 3, bytes: 2e6 },
    ],
  };
}

/** Steps 1 and 2 with whole records, step 3 of a table of completions whose last row was cut off. */
export function writeOddRun(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const step of [1, 2])
    writeStepRecord(join(folder, 'steps', String(step).padStart(6, '0')), oddRecord(step));
  const metrics = [1, 2, 3].map((step) => ({ step, reward: 0.1 * step }));
  writeFileSync(join(folder, 'metrics.jsonl'), metrics.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const rows = Array.from({ length: 7 }, (_, b) =>
    JSON.stringify({
      step: 3,
      prompt: Math.floor(b / 4),
      index: b % 4,
      prompt_text: `What is ${Math.floor(b / 4)} + 1?`,
      completion: `It is ${b}.`,
      finish_reason: 'stop',
      length: 4,
      reward: b / 8,
      rewards: { right: b / 8 },
      advantage: b % 4 === 0 ? 1 : -0.3,
    }),
  );
  writeFileSync(join(folder, 'completions.jsonl'), `${rows.join('\n')}\n${rows[0]!.slice(0, 60)}`);
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ format: 1, values: {} }));
}
