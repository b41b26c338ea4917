import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { StepRow } from '../formats/jsonl.js';
import { lastLine } from '../formats/last-line.js';
import { stepOfRow } from '../trace/readers/step-of-row.js';
import type { Position } from './cursor.js';
import { numberIn, numbersIn, revived } from './row-numbers.js';
import { RowTail } from './row-tail.js';
import type { CompletionRow, FindingRow, Item } from './sink.js';

/** Reads along in the files of a run while it writes them, and makes items of their rows, step by step. */
export class RunFollower {
  readonly #folder: string;
  readonly #metrics: RowTail;
  readonly #timings: RowTail;
  readonly #findings: RowTail;
  readonly #evaluations: RowTail;
  readonly #completions: RowTail | undefined;
  #lastStep = 0;
  /** When the last step ended, or the run was begun. */
  #time: number;

  /** @param from - what has been delivered */
  constructor(folder: string, from: Position, usesCompletions: boolean) {
    const tail = (file: string, after: number) => new RowTail(join(folder, file), after);
    this.#folder = folder;
    this.#metrics = tail('metrics.jsonl', from.step);
    this.#timings = tail('timings.jsonl', from.step);
    this.#findings = tail('findings.jsonl', from.findings);
    this.#evaluations = tail('eval.jsonl', from.evaluation);
    this.#completions = usesCompletions ? tail('completions.jsonl', from.step) : undefined;
    this.#time = statSync(join(folder, 'config.json')).mtimeMs / 1000;
  }

  /** The items of the next whole steps and of evaluations, some more than `most` at most. */
  next(most: number): Item[] {
    const items: Item[] = [];
    while (items.length < most) {
      // Timings end a step, and its evaluation comes before the next step: whatever is written meanwhile, the order is right.
      const ended = this.#timings.peek();
      const evaluation = this.#evaluations.peek();
      const timings = ended ?? this.#timings.peek();
      if (evaluation && !(timings && timings.step <= evaluation.step)) {
        const { step } = evaluation;
        for (const { step: _, ...row } of this.#evaluations.takeThrough(step))
          items.push({ kind: 'evaluation', step, time: this.#time, values: numbersIn(row) });
      } else if (timings) items.push(...this.#wholeStep(timings.step));
      else break;
    }
    return items;
  }

  /** Findings of a step that failed, after which the run has ended. */
  rest(): Item[] {
    return this.#findingsThrough(Number.POSITIVE_INFINITY);
  }

  /** The last step that the run has ended. */
  get lastStep(): number {
    // A disk that is full breaks a run off within a row, and its end is told all the same.
    const step = stepOfRow(lastLine(join(this.#folder, 'timings.jsonl')) ?? '');
    this.#lastStep = step ?? this.#lastStep;
    return this.#lastStep;
  }

  #wholeStep(step: number): Item[] {
    const rows = [this.#metrics, this.#timings].flatMap((tail) => tail.takeThrough(step));
    const { step: _, ended_at, ...values } = numbersIn(Object.assign({}, ...rows));
    this.#time = ended_at ?? this.#time;
    const completions = (this.#completions?.takeThrough(step) ?? []).map(completionIn);
    return [{ kind: 'step', step, time: this.#time, values, completions }, ...this.#findingsThrough(step)];
  }

  #findingsThrough(last: number): Item[] {
    const bySteps = new Map<number, FindingRow[]>();
    for (const row of this.#findings.takeThrough(last)) {
      const findings = bySteps.get(row.step) ?? [];
      bySteps.set(row.step, [...findings, revived(row) as FindingRow & StepRow]);
    }
    return [...bySteps].map(([step, findings]) => ({ kind: 'findings', step, time: this.#time, findings }));
  }
}

function completionIn(row: StepRow): CompletionRow {
  const { rewards, reward, ...others } = row as unknown as CompletionRow & StepRow;
  return { ...others, reward: numberIn(reward) ?? Number.NaN, rewards: numbersIn(rewards) };
}
