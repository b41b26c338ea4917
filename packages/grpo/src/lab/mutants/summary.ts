/** What a small run did, in numbers that are compared with those of other runs. */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SafetensorsFile } from '../../formats/safetensors.js';
import { joinRows } from '../../maths/lists.js';
import { mean } from '../../maths/moments.js';
import { checkpointsIn } from '../../run/folder/checkpoint.js';
import type { Course } from './small-run.js';

/** What is kept of a run. */
export interface RunSummary {
  /** Fingerprints by step: of prompts and completions, and of the weights after the step. */
  completions: string[];
  weights: string[];
  /** Weights as its last checkpoint has them, float32, one tensor after another. */
  final: Float32Array;
  statistics: Statistics;
}

/** Means over the steps, and how much differs, by name: what hardly changes from one seed to another. */
export type Statistics = Readonly<Record<string, number>>;

interface CompletionRow {
  step: number;
  prompt: number;
  prompt_text: string;
  completion: string;
  finish_reason: string;
}

const rowsOf = <T>(path: string): T[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);

const completionsOf = (output: string) => rowsOf<CompletionRow>(join(output, 'completions.jsonl'));

/** Reads what a finished run left. */
export function summaryOf(output: string, { weights }: Course): RunSummary {
  const rows = completionsOf(output);
  const texts: string[] = [];
  for (const { step, prompt_text, completion, finish_reason } of rows)
    texts[step - 1] = `${texts[step - 1] ?? ''}${prompt_text}\n${completion}\n${finish_reason}\n`;
  return {
    completions: texts.map((text) => createHash('sha256').update(text).digest('hex').slice(0, 16)),
    weights,
    final: finalWeights(output),
    statistics: statisticsOf(output),
  };
}

export const statisticsOf = (output: string): Statistics => ({
  ...means(rowsOf<Record<string, number>>(join(output, 'metrics.jsonl'))),
  ...variety(completionsOf(output)),
});

/** Extremes scatter too much to tell one distribution from another; memory and token counts say nothing more. */
const LEFT_OUT = /^(step|live_.*|.*tokens)$|min|max/;

/** The mean of each metric over the steps that have it, and how many these are. */
function means(rows: readonly Record<string, number>[]): Statistics {
  const names = [...new Set(rows.flatMap(Object.keys))].filter((name) => !LEFT_OUT.test(name));
  return Object.fromEntries(
    names.flatMap((name) => {
      const values = rows.flatMap((row) => row[name] ?? []);
      return [
        [name, mean(values)],
        [`${name}, steps`, values.length],
      ];
    }),
  );
}

/** How much differs: prompts of the run, prompts of a step, completions of a group. */
function variety(rows: readonly CompletionRow[]): Statistics {
  const share = (keys: (row: CompletionRow) => string, of: (row: CompletionRow) => string) =>
    new Set(rows.map(keys)).size / new Set(rows.map(of)).size;
  const place = ({ step, prompt }: CompletionRow) => `${step} ${prompt}`;
  const text = ({ step, prompt, completion }: CompletionRow) => `${step} ${prompt} ${completion}`;
  return {
    completions: rows.length,
    prompts: share(
      ({ prompt_text }) => prompt_text,
      () => '',
    ),
    'prompts of a place': share((row) => `${place(row)} ${row.prompt_text}`, place),
    'prompts of a step': share(({ step, prompt_text }) => `${step} ${prompt_text}`, place),
    'completions of a group': share(text, place),
  };
}

function finalWeights(output: string): Float32Array {
  const [last] = checkpointsIn(join(output, 'checkpoints'));
  const names = ['model.safetensors', 'adapter_model.safetensors'];
  const path = names.map((name) => join(last!.dir, name)).find((file) => existsSync(file))!;
  using file = SafetensorsFile.open(path);
  const parts = [...file.tensors.keys()].sort().map((name) => {
    const bytes = Uint8Array.from(file.read(name));
    return new Float32Array(bytes.buffer);
  });
  return joinRows(Float32Array, parts);
}
