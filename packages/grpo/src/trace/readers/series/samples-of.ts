import type { Declared } from '../../declared.js';
import type { MetricSeries, Samples, Setting } from '../../series.js';

type Entries = MetricSeries['entries'];

/** How many groups and completions an entry is the mean of, as the settings tell, or as its shares show. */
export function samplesOf(
  { entries, stepsPerEntry, settings = {} }: Pick<MetricSeries, 'entries' | 'stepsPerEntry' | 'settings'>,
  declared: Declared,
): Samples | undefined {
  const group = declared.rollout?.group;
  const told = stepsPerEntry === undefined ? undefined : perStep(settings, group);
  if (told && stepsPerEntry !== undefined) {
    const { groups, completions } = told;
    return {
      ...(groups !== undefined && { groups: groups * stepsPerEntry }),
      ...(completions !== undefined && { completions: completions * stepsPerEntry }),
      from: 'settings',
    };
  }
  const flat = denominator(entries, 'frac_reward_zero_std');
  const cut = denominator(entries, 'completions/clipped_ratio');
  const completions = cut ?? (flat !== undefined && group !== undefined ? flat * group : undefined);
  const groups = flat ?? (cut !== undefined && group !== undefined ? Math.ceil(cut / group) : undefined);
  if (groups === undefined && completions === undefined) return undefined;
  return {
    ...(groups !== undefined && { groups }),
    ...(completions !== undefined && { completions }),
    from: 'shares',
  };
}

/** Groups and completions that a step trains on. */
function perStep(
  settings: Readonly<Record<string, Setting>>,
  group: number | undefined,
): Omit<Samples, 'from'> | undefined {
  const number = (...names: string[]) => {
    const value = names.map((name) => settings[name]).find((one) => typeof one === 'number');
    return value as number | undefined;
  };
  // verl and its relatives count prompts, TRL counts completions.
  const prompts = number('data.train_batch_size', 'data.rollout_batch_size');
  const rows = number('total_train_batch_size') ?? rowsPerStep(number);
  if (prompts !== undefined)
    return { groups: prompts, ...(group !== undefined && { completions: prompts * group }) };
  if (rows === undefined) return undefined;
  return { completions: rows, ...(group !== undefined && { groups: Math.max(1, rows / group) }) };
}

/** Completions that TRL trains on in a step; a rollout may serve several. */
function rowsPerStep(number: (name: string) => number | undefined): number | undefined {
  const [rows, accumulated] = [number('generation_batch_size'), number('gradient_accumulation_steps')];
  const microSteps = number('steps_per_generation') ?? accumulated;
  return rows === undefined || !accumulated || !microSteps ? rows : (rows * accumulated) / microSteps;
}

/** A share of more than this is not told from a number by chance. */
const MOST_PARTS = 512;
/** What float32 and a mean over steps leave of a share. */
const ROUNDING = 2e-6;

/** The least number of parts of which all values are whole ones; of fewer than two proper shares none. */
function denominator(entries: Entries, name: string): number | undefined {
  const shares = new Set(
    entries.flatMap(({ values: { [name]: value } }) => (value! > 0 && value! < 1 ? [value!] : [])),
  );
  if (shares.size < 2) return undefined;
  const isWhole = (value: number) => Math.abs(value - Math.round(value)) <= ROUNDING * Math.max(1, value);
  for (let parts = 2; parts <= MOST_PARTS; parts++)
    if ([...shares].every((share) => isWhole(share * parts))) return parts;
  return undefined;
}
