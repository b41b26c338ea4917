import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type DType, type Tensor, tensor } from '@grpo/torch';

/** Elements of a tensor: numbers (null is NaN), or bits. */
export type Stored = { shape: number[] } & ({ values: (number | null)[] } | { bits: string });

export interface StoredCase {
  call: string;
  /** The option's name → that of an input. */
  inputs: Record<string, string>;
  settings: Record<string, number | string>;
  /** How often it is called before the gradient is read. */
  steps?: number;
  expected: Record<string, Stored>;
}

type Ids = { shape: number[]; values: number[] };

/** What `parity/make_cs336_fixtures.py` writes. */
export interface Fixture {
  page: Record<string, number>;
  inputs: Record<string, Stored>;
  cases: StoredCase[];
  groups: { rewards: number[]; groupSize: number; advantageEps: number; byStd: number[]; byMean: number[] };
  text: {
    model: string;
    prompts: string[];
    outputs: string[];
    inputIds: Ids;
    labels: Ids;
    responseMask: Stored;
    sft: {
      template: string;
      rows: Record<string, string>[];
      seqLength: number;
      inputIds: Ids;
      labels: Ids;
    };
  };
  dpo: {
    lm: string;
    lmRef: string;
    beta: number;
    prompt: string;
    responseChosen: string;
    responseRejected: string;
    loss: number;
  };
}

const at = (path: string) => fileURLToPath(new URL(`../../../../parity/fixtures/${path}`, import.meta.url));

export const fixture = JSON.parse(readFileSync(at('cs336.json'), 'utf8')) as Fixture;

export const modelFixture = (name: string) => at(`models/${name}`);

export const numbersOf = (stored: Stored): number[] =>
  'bits' in stored ? Array.from(stored.bits, Number) : stored.values.map((value) => value ?? Number.NaN);

export const toTensor = (stored: Stored, dtype: DType): Tensor =>
  tensor(numbersOf(stored), stored.shape, { dtype: 'bits' in stored ? 'bool' : dtype });

/** As NumPy's allclose, NaN equal to NaN. */
export function isClose(
  ours: readonly number[],
  theirs: readonly number[],
  { relative, absolute }: { relative: number; absolute: number },
): boolean {
  const near = (x: number, y: number) =>
    Number.isNaN(y) ? Number.isNaN(x) : Math.abs(x - y) <= absolute + relative * Math.abs(y);
  return ours.length === theirs.length && ours.every((x, i) => near(x, theirs[i]!));
}

/** What our tests ask for, and what the assignment's do. */
export const STRICT = { relative: 1e-6, absolute: 1e-6 };
export const ASSIGNMENT = { relative: 1e-4, absolute: 1e-2 };
