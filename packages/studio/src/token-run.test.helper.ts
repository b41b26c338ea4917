/** A run of one good step whose tokens can be told apart: texts, a tool's tokens, a planted gap, an order of unmasking. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { richRecord } from '../../grpo/dist/doctor/rich-record.test.helper.js';
import { type StepRecord, writeStepRecord } from '../../grpo/dist/trace/index.js';

/** A completion with a signal, and the place of its tokens in the columns of the record. */
export const OWN = 10;
/** Its tokens that a tool wrote: they are not in the loss. */
export const TOOL = { from: 6, to: 9 };
/** Its token whose log-prob the sampler had otherwise, by half a nat. */
export const GAP_AT = 3;

export const startOf = ({ completions }: StepRecord, index = OWN): number =>
  completions!.lengths!.slice(0, index).reduce((sum, length) => sum + length, 0);

const PIECES: Readonly<Record<number, number[]>> = { 5: [0x0a], 6: [0xe2, 0x80] };
const bytesOf = (id: number) => PIECES[id] ?? [...new TextEncoder().encode(` w${id}`)];

/** Step 1: whole. */
export function tokenRecord(): StepRecord {
  const record = richRecord({ step: 2, bonus: true });
  const { completions, scored, prompts, tokenizer, updates } = record;
  const start = startOf(record);
  const ids = completions!.ids!.slice();
  ids.set([5, 6], start + 1);
  const source = completions!.source!.slice();
  const mask = scored!.mask!.slice();
  source.fill(1, start + TOOL.from, start + TOOL.to);
  mask.fill(0, start + TOOL.from, start + TOOL.to);
  const samplerLogprobs = completions!.samplerLogprobs!.slice();
  samplerLogprobs[start + GAP_AT]! -= 0.5;
  const all = Array.from({ length: 47 }, (_, id) => id);
  const [prompt] = prompts!.lengths!;
  return {
    ...record,
    step: 1,
    tokenizer: {
      ...tokenizer,
      pieces: {
        ids: Int32Array.from(all),
        bytes: Uint8Array.from(all.flatMap(bytesOf)),
        lengths: Int32Array.from(all, (id) => bytesOf(id).length),
      },
    },
    prompts: {
      ...prompts,
      spans: Array.from(prompts!.lengths!, (length) => [
        { kind: 'prompt', start: 0, end: length },
        { kind: 'message', role: 'user', start: 1, end: prompt! - 1 },
      ]),
    },
    completions: { ...completions, ids, source, samplerLogprobs },
    scored: { ...scored, ids: ids.slice(), mask },
    updates: updates!.map((update) => ({
      ...update,
      weights: update.weights!.map((weight, t) => (mask[t] === 0 ? 0 : weight)),
    })),
  };
}

/** Step 2: without texts of tokens; with the order in which a masked-diffusion model filled them. */
export function orderRecord(): StepRecord {
  const record = richRecord({ step: 1 });
  const { lengths, ids } = record.completions!;
  const order = Int32Array.from(ids!, (_, t) => t % 4);
  return {
    ...record,
    step: 2,
    diffusion: { maskId: 46, widths: lengths!.slice(), region: ids!.slice(), order, steps: 4 },
  };
}

/** Step 3 has texts alone. */
export function writeTokenRun(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), '{}');
  const rows = [1, 2, 3].map((step) => `${JSON.stringify({ step, reward: 0.5, loss: 0.1 })}\n`);
  writeFileSync(join(folder, 'metrics.jsonl'), rows.join(''));
  const text = { step: 3, prompt: 'Say yes.', completion: 'yes, of course', total: 1 };
  writeFileSync(join(folder, 'completions.jsonl'), `${JSON.stringify(text)}\n`);
  const write = (record: StepRecord) =>
    writeStepRecord(join(folder, 'steps', String(record.step).padStart(6, '0')), record);
  write(tokenRecord());
  write(orderRecord());
}
