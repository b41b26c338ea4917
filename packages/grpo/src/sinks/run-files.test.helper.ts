import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { Cursor } from './cursor.js';

/** The files of a run that somebody trains. */
export class RunFiles {
  readonly folder = tempFolder();

  constructor() {
    writeFileSync(join(this.folder, 'config.json'), '{}');
  }

  add(file: string, ...rows: object[]): void {
    for (const row of rows) this.addText(file, `${JSON.stringify(row)}\n`);
  }

  addText(file: string, text: string): void {
    appendFileSync(join(this.folder, file), text);
  }

  /** Rows of a step, in the order in which a run writes them. */
  step(step: number, more: object = {}): void {
    this.add('completions.jsonl', completion(step, 0, 1), completion(step, 1, 0.25));
    this.add('metrics.jsonl', { step, reward: step / 4, loss: -step, ...more });
    this.add('timings.jsonl', { step, ended_at: 1000 + step, step_time: 2 });
  }

  cursor(name = 'csv'): Cursor {
    return new Cursor(this.folder, name);
  }
}

export const completion = (step: number, index: number, reward: number | string) => ({
  step,
  prompt: 0,
  index,
  prompt_text: 'Say *hi*',
  completion: `hi ${step}\n\`\`\`\n<b>${index}</b>`,
  finish_reason: 'stop',
  length: 3 + index,
  reward,
  rewards: { kind: reward, brief: 0.5 },
  advantage: index === 0 ? 1 : -1,
});

/** A finding of a step. */
export const finding = (step: number, severity: 'warn' | 'fail' = 'warn') => ({
  step,
  code: 'B49.share',
  severity,
  measured: { tokens: 400, mean: 0.1, topShare: 0.75, largest: 8 },
});
