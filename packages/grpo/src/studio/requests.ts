/** The requests of the page to the data layer, and their answers. */
import type { Judgement } from '../doctor/examine.js';
import type { Finding } from '../doctor/finding.js';
import type { StepComparison } from '../view/compare-steps.js';
import type { Piece } from '../view/pieces.js';
import type { StepView } from '../view/step-view.js';

/** A run or whatever else `doctor` reads. */
export interface RunEntry {
  /** Its path, as the page's links name it. */
  id: string;
  name: string;
  /** The format that was recognised: `run folder of grpo`. */
  kind: string;
  /**
   * `running`: a lock is in its folder and its files changed lately. `finished`: it has its last step. `stopped`: a run of
   * ours that is neither.
   */
  state: 'running' | 'finished' | 'stopped' | 'unknown';
  /** The last step that is there, and the one that the run was to have. */
  step?: number;
  steps?: number;
  /** The last reward and those before it, thinned to at most 60 points. */
  reward?: number;
  rewards?: Float64Array;
  /** Checks that found something, as far as the end of the run's own findings tells. */
  findings?: { fail: number; warn: number };
  /** Milliseconds since 1970 of the last change. */
  modified?: number;
  /** The reason why it cannot be read. */
  problem?: string;
}

/** The healthy range of a metric, with the source. */
export interface Band {
  low?: number;
  high?: number;
  says: string;
  source: string;
}

/** In the order of the page. */
export const CURVE_GROUPS = [
  'reward',
  'reward parts',
  'length',
  'policy',
  'gradient',
  'time',
  'evaluation',
  'other',
] as const;
export type CurveGroup = (typeof CURVE_GROUPS)[number];

export interface Curve {
  /** In the names of TRL. */
  name: string;
  group: CurveGroup;
  steps: Float64Array;
  /** NaN where the log has NaN. */
  values: Float64Array;
  unit?: string;
  band?: Band;
}

export interface RunCurves {
  entry: RunEntry;
  curves: readonly Curve[];
  /** Steps that have a record: whole, or of texts and rewards only. */
  records: readonly StepEntry[];
  /** How it was read, and what was left out. */
  notes: readonly string[];
}

export interface StepEntry {
  step: number;
  isWhole: boolean;
}

/** A finding with the places on the page that it cites. */
export interface FindingLink {
  finding: Finding;
  label: string;
  says: string;
  /** Where it was seen: as far down as can be told. */
  places: readonly { text: string; step?: number; completion?: number; token?: number; metric?: string }[];
}

/** A finding with its check: how it tests, its sources, and what to do. */
export interface ReportedFinding extends FindingLink {
  /** The rule that must hold, its test, and the remedy where it does not. */
  title: string;
  threshold: string;
  remedy: string;
  /** The evidence that would settle it. */
  settles?: string;
  sources: string;
  /** How the check was shown to find its fault; empty where it was not. */
  proofs: readonly string[];
  /** Its steps, in words. */
  steps?: string;
  /** The parts of the run that it makes void. */
  rerun?: string;
  /** Metrics of the log that it is about. */
  metrics: readonly string[];
  /** Other signs of the same fault. */
  signs: readonly ReportedFinding[];
}

/** The doctor's report of a run. */
export interface RunReport {
  summary: string;
  /** The finding that leads. */
  cause?: ReportedFinding;
  /** Sentence for a report without one, and whether it is that nothing was found. */
  verdict: string;
  isSound: boolean;
  /** `brief`: a sentence each, the rest folded. */
  sections: readonly { title: string; brief: boolean; findings: readonly ReportedFinding[] }[];
  /** Metrics that moved over the run. */
  course: readonly { metric: string; name: string; levels: string; change: string }[];
  notes: readonly string[];
  /** Every check: how often it was made, and what was missing where it could not be. */
  checks: readonly (Pick<Judgement, 'code' | 'verdict' | 'judged' | 'missing'> & { title: string })[];
  /** All findings, the cause first. */
  links: readonly FindingLink[];
}

/** A step from its small arrays: its groups and completions without token sums. */
export interface StepAnswer {
  step: number;
  isWhole: boolean;
  view: Omit<StepView, 'verdicts'>;
  /** Values of each reward's parts, the rule that decided, and failures: by completion. */
  parts: readonly { reward: string; part: string; values: Float64Array }[];
  rules: readonly { reward: string; rules: readonly (string | null)[] }[];
  failures: readonly { reward: string; completion: number | null; reason: string }[];
  /** Characters that all completions of a prompt begin with, by prompt. */
  shared: Int32Array;
  /** The step that sampled each prompt's group, 0 for this one; missing where none is replayed. By prompt. */
  replayed?: Int32Array;
}

/** Numbers of tokens, a column each; undefined where the record lacks it. */
export interface TokenColumns {
  ids?: Int32Array;
  /** 0 for a token of the model, 1 of a tool, 2 of the template. */
  source?: Uint8Array;
  mask?: Uint8Array;
  /** Ids that each token could have been drawn from, where they were kept: log-probs and entropy are over them. */
  support?: Int32Array;
  sampler?: Float32Array;
  sampled?: Float32Array;
  old?: Float32Array;
  reference?: Float32Array;
  policy?: Float32Array;
  entropy?: Float32Array;
  ratio?: Float32Array;
  /** 0 inside, −1 below, +1 above the clip range; 2 where it cuts the gradient off. */
  clip?: Int8Array;
  /** policy − sampler before the first update, nats; only where both score the same distribution. */
  gap?: Float32Array;
  policyTerm?: Float32Array;
  klTerm?: Float32Array;
  weight?: Float32Array;
  /** Share of the loss: policyTerm × weight + β klTerm × klWeight, less the entropy bonus. */
  loss?: Float64Array;
  policySlope?: Float64Array;
  klSlope?: Float64Array;
  /** Of a masked-diffusion model: the denoising step that filled it. */
  order?: Int32Array;
}

export interface CompletionAnswer {
  step: number;
  name: string;
  prompt: number;
  promptIds?: Int32Array;
  promptSpans?: readonly { kind: string; role?: string; start: number; end: number }[];
  /** How many updates the step has, and which one the columns are of. */
  updates: number;
  update: number;
  columns: TokenColumns;
  count: number;
  advantage?: number;
  /** As rendered, and as the rewards got it: all that there is of a step of texts. */
  promptText?: string;
  text?: string;
  /** Why it ended, and its reward. */
  finish?: string;
  total?: number;
  /** The completions of its prompt, itself included. */
  group: readonly { index: number; name: string }[];
  /** As declared for the update. */
  settings: LossSettings;
  /** Text and bytes of a token, by id; `special` where it is one. */
  pieces: ReadonlyMap<number, Piece>;
}

/** The settings of a loss that may be tried with other values. */
export interface LossSettings {
  epsilonLow?: number;
  epsilonHigh?: number;
  beta?: number;
}

/** The loss of an update as a sum: adds up to `recorded` to rounding. */
export interface LossAnswer {
  updates: number;
  update: number;
  /** With which it was recorded. */
  settings: LossSettings;
  recorded?: number;
  /** Σ of all that is below. */
  total: number;
  components: readonly { name: string; value: number }[];
  groups: readonly {
    prompt: number;
    value: number;
    completions: readonly { index: number; name: string; policy: number; kl: number; entropy?: number }[];
  }[];
  /** Reasons why shares are missing from the sum. */
  lacks: readonly string[];
  /** The same with other settings; missing when nothing was changed. */
  hypothetical?: { total: number; groups: LossAnswer['groups']; changed: Readonly<Record<string, number>> };
}

/** The share of each token of a completion in the loss, as recorded and with other settings. */
export interface TokenLosses {
  policy?: Float64Array;
  kl?: Float64Array;
  entropy?: Float64Array;
  hypothetical?: Pick<TokenLosses, 'policy' | 'kl' | 'entropy'>;
}

export interface TokenPlace {
  completion: number;
  name: string;
  token: number;
  /** The update that it was seen in; missing for a gap, which is before the first. */
  update?: number;
  id?: number;
  text?: string;
  value: number;
}

export const MEASURES = ['gap', 'ratio', 'entropy', 'logprob', 'kl', 'loss', 'slope'] as const;
export type Measure = (typeof MEASURES)[number];

/** By position in the completion, from 0: means over the completions that train on it, NaN where none does. */
export interface PositionAnswer {
  mean: Float64Array;
  /** Mean of the size, and the largest: the distance from 0, of a ratio |log ratio|. */
  size: Float64Array;
  largest: Float64Array;
  count: Float64Array;
}

export interface CompareAnswer {
  comparison: StepComparison;
  /** Prompts that both steps have: those of equal text. */
  prompts: readonly { text: string; here: number; there: number }[];
}

export interface Requests {
  runs: { input: Record<string, never>; output: readonly RunEntry[] };
  curves: { input: { run: string }; output: RunCurves };
  report: { input: { run: string }; output: RunReport };
  step: { input: { run: string; step: number }; output: StepAnswer };
  /** The doctor's verdict of one step, and the sums over all its tokens. */
  stepWhole: {
    input: { run: string; step: number };
    output: { view: StepView; links: readonly FindingLink[] };
  };
  completion: {
    input: { run: string; step: number; index: number; update?: number };
    output: CompletionAnswer;
  };
  worstTokens: {
    input: { run: string; step: number; measure: Measure; count: number };
    output: readonly TokenPlace[];
  };
  positions: { input: { run: string; step: number; measure: Measure }; output: PositionAnswer };
  loss: {
    input: { run: string; step: number; update?: number } & LossSettings;
    output: LossAnswer;
  };
  tokenLosses: {
    input: { run: string; step: number; index: number; update?: number } & LossSettings;
    output: TokenLosses;
  };
  compare: {
    input: { run: string; step: number; otherRun: string; otherStep: number };
    output: CompareAnswer;
  };
  /** Forgets what has changed on the disk. */
  refresh: { input: { paths: readonly string[] }; output: null };
}

export type RequestName = keyof Requests;
