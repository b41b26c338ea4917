import type { Declared } from '../declared.js';
import type { StepRecord } from '../record.js';
import type { MetricSeries } from '../series.js';

/** A part of a file that could not be read. */
export interface BrokenPart {
  file: string;
  /** 1-based; missing where the format has no lines. */
  line?: number;
  reason: string;
}

/** How much could not be read, and the first few of it. */
export interface BrokenSummary {
  readonly count: number;
  readonly first: readonly BrokenPart[];
}

/** One completion of a table of completions. */
export interface CompletionRow {
  step: number;
  prompt?: string;
  completion: string;
  /** By the name of the reward; NaN where there is no value. */
  rewards: Readonly<Record<string, number>>;
  advantage?: number;
}

/** One of several runs at a path. */
export interface RunPart {
  /** For people: `rho0.10_seed43.log`, `lines 1 to 233`. */
  name: string;
  read(): Promise<Reading>;
}

/** What a path was recognised as, and what it holds. */
export interface Reading {
  /** For people: `TRL trainer_state.json`. */
  kind: string;
  files: readonly string[];
  series?: MetricSeries;
  /** Each is read when it is asked for; what cannot be read is passed over and counted in {@link Reading.broken}. */
  records?: Iterable<StepRecord>;
  /** The record of a step that completions alone tell of, found without reading those of other steps. */
  textRecord?(step: number): StepRecord | undefined;
  /** Those of the records that have texts. */
  completions?: Iterable<CompletionRow>;
  declared?: Declared;
  /**
   * The runs of a folder that has several, or of a file in which several follow each other. Each is judged alone; the
   * reading itself has neither series nor records then.
   */
  runs?: readonly RunPart[];
  /** Whether anything in it is about GRPO: logs of supervised training are not. */
  isGrpo: boolean;
  /** Grows while records are read. */
  broken: BrokenSummary;
  /** What was found and how it was taken, and what can therefore not be judged. */
  notes: readonly string[];
  /** Sentence about the error that ended the run. */
  crash?: string;
}

/** Collects what could not be read. */
export class BrokenParts implements BrokenSummary {
  count = 0;
  readonly first: BrokenPart[] = [];

  add(part: BrokenPart): void {
    this.count++;
    if (this.first.length < 5) this.first.push(part);
  }

  addAll({ count, first }: BrokenSummary): void {
    this.count += count;
    this.first.push(...first.slice(0, 5 - this.first.length));
  }
}
