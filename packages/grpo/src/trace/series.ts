/** Scalar metrics over steps, in the names of TRL whatever trainer they come from. */

/** The metrics of one log line. */
export interface MetricsEntry {
  /** Optimizer step, counted as the log counts. */
  step: number;
  values: Readonly<Record<string, number>>;
  /** Where it stands: 1-based line of the file. */
  line?: number;
}

/** Sums over the completions of an evaluation. */
export interface EvaluationCount {
  step: number;
  /** `greedy` or `sampled`. */
  decoding: string;
  total: number;
  correct: number;
  tokens: number;
}

/** What a log holds, and how its numbers are to be read. */
export interface MetricSeries {
  /** In the order of the steps, one a step; of very many some are left out. */
  entries: readonly MetricsEntry[];
  producer: { name: string; version?: string };
  /** Steps that one entry averages over; missing when nobody tells. `grad_norm` is of the last one even so. */
  stepsPerEntry?: number;
  /** The number of the run’s first step; 1 where it is missing. */
  countsFrom?: number;
  /** Whether the log tells no steps, and its entries were counted: the first one may be of any step. */
  isCounted?: true;
  /** The last step that the run was to have. */
  lastStep?: number;
  /** Decimals that a metric is printed with, where it is rounded: its 0 may be any number below half of the last one. */
  decimals?: Readonly<Record<string, number>>;
  /** The command that began the run. */
  command?: string;
  /** The last exception, `ValueError: …`, and the line of the log that has it. */
  exception?: { text: string; line: number };
  /** Lines that say that an update was skipped: how many, and the first. */
  skips?: { count: number; text: string; line: number };
  /** What `reward_std` is: the mean over the groups, or over the whole batch. Missing when the version is unknown. */
  rewardDeviation?: 'groups' | 'batch';
  /** Whether a critic stands where GRPO compares the completions of a prompt, as in PPO. */
  hasCritic?: true;
  /** `rewards/NAME/mean` of weighted sums: whether `reward` includes the weights. */
  rewardIsWeighted?: boolean;
  /** The evaluations, counted from the completions that were written. */
  evaluations?: readonly EvaluationCount[];
}
