import type { Producer } from '../producers/index.js';
import { givenName } from '../rows/given-names.js';
import { canBe, commonName, type Told } from '../rows/metric-names.js';
import type { CommonName } from '../rows/name-table.js';

/** TRL's name, and a factor where the unit differs. */
type Target = readonly [name: string, factor: number];

/** How the metrics of a log are renamed. */
export interface Renaming {
  nameOf(name: string): string;
  rename(values: Readonly<Record<string, number>>): Record<string, number>;
  /** Names that were taken for one of TRL's by the table of names that logs in general use. */
  taken: readonly (readonly [name: string, common: string])[];
}

/** Renames as the producer does; then what nobody has taken as logs in general do. */
export function renamingOf(
  { names = {}, patterns = [] }: Producer,
  entries: readonly { values: Readonly<Record<string, number>> }[],
  decimals: Readonly<Record<string, number>> = {},
): Renaming {
  const counts = new Map<string, number>();
  const told = new Map<string, Told>();
  for (const { values } of entries) {
    for (const [name, value] of Object.entries(values)) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
      const known = told.get(name);
      // A log that prints decimals of a whole number counts nothing by it.
      const whole = (known?.whole ?? decimals[name] === undefined) && Number.isInteger(value);
      const least = known !== undefined && value >= known.least ? known.least : value;
      const largest = known !== undefined && value <= known.largest ? known.largest : value;
      told.set(name, { least, largest, whole });
    }
  }
  const byUpdate = namesByUpdate([...counts.keys()]);
  const byProducer = (written: string): Target => {
    if (givenName(written) !== undefined) return [written, 1];
    const name = byUpdate.get(written) ?? written;
    // Brackets behind a name may be someone's words about it.
    const own = [name, name.replace(/ \([^)]*\)$/, '')].flatMap((one) =>
      Object.hasOwn(names, one) ? [names[one]!] : [],
    )[0];
    const family = patterns.find(([pattern]) => pattern.test(name));
    const renamed = own ?? (family ? name.replace(family[0], family[1]) : name);
    return typeof renamed === 'string' ? [renamed, 1] : renamed;
  };
  // Of several names for one metric the one that stands in most entries counts, TRL's own twice; a producer's is sure.
  // Beside a raw reward the other is normalised, with a mean of 0; beside a length, tokens may be those of the batch.
  const preferred = /(^|[/_])raw_rewards?$|len/i;
  const weight = ([name, count]: readonly [string, number]) =>
    givenName(name) !== undefined
      ? Number.MAX_SAFE_INTEGER
      : (commonName(name) === name ? 2 : 1) * count + Number(preferred.test(name)) / 2;
  const byCount = [...counts].sort((a, b) => weight(b) - weight(a)).map(([name]) => name);
  const known = new Map(byCount.map((name) => [name, byProducer(name)] as const));
  const hasLength = byCount.some((name) => commonName(name) === LENGTH);
  const meaning = (name: string, target: string): string | undefined => {
    const common = commonName(target);
    const { largest } = told.get(name)!;
    const isTruncation = common === CLIPPED && EITHER.test(name) && largest <= 1;
    return isTruncation && largest > (hasLength ? MOST_CLIPPED : HALF) ? TRUNCATED : common;
  };
  const targets = new Set([...known].flatMap(([name, [target]]) => (target === name ? [] : [target])));
  const taken: [string, string][] = [];
  for (const [name, [target, factor]] of known) {
    const common = Object.hasOwn(names, name) ? undefined : meaning(name, target);
    if (common === undefined || (common === target && target !== name)) continue;
    if (common !== name && !canBe(common, name, told.get(name)!)) continue;
    if (targets.has(common)) {
      // A rarer number under TRL's own name is another one.
      if (common === name) known.set(name, [`${name} (rare)`, 1]);
      continue;
    }
    targets.add(common);
    known.set(name, [common, factor]);
    if (common !== name) taken.push([name, common]);
  }
  const all = [...known].map(([name, [target]]) => [name, target] as const);
  const right = all.find(([name]) => RIGHT.test(name));
  if (
    right &&
    all.some(([, target]) => OF_GRPO.test(target)) &&
    !all.some(([, target]) => REWARD.test(target))
  ) {
    known.set(right[0], ['reward', 1]);
    taken.push([right[0], 'reward']);
  }
  const targetOf = (name: string): Target => known.get(name) ?? byProducer(name);
  return {
    nameOf: (name) => targetOf(name)[0],
    rename(values) {
      const renamed: Record<string, number> = {};
      for (const [name, value] of Object.entries(values)) {
        const [target, factor] = targetOf(name);
        if (!Object.hasOwn(renamed, target)) renamed[target] = value * factor;
      }
      return renamed;
    },
    taken,
  };
}

const [LENGTH, CLIPPED, TRUNCATED] = [
  'completions/mean_length',
  'clip_ratio/region_mean',
  'completions/clipped_ratio',
] as const satisfies CommonName[];
/** Matches a name that clipped tokens have, and truncated completions as well. */
const EITHER = /^clip(?:ped)?(?:[_ ]ratio)?$/i;
/** A share of clipped tokens that PPO hardly ever has, which beside a length tells enough, and one that it never has. */
const [MOST_CLIPPED, HALF] = [0.3, 0.5];

/** Matches a share of right answers: beside metrics of GRPO, and without another reward, it is the reward. */
const RIGHT = /^(acc|accuracy|pass@?1|correct)$/i;
const OF_GRPO = /^(advantages\/|completions\/|reward_std$|kl$|policy_loss$|frac_reward_zero_std$)/;
const REWARD = /^rewards?($|\/(?!correct\/))/;

/** A number of an update within a step: `policy/u0/ratio_mean`, `clip_frac_update_3`. */
const UPDATE = /(?:^|(?<=[/_]))(?:u|upd|update|inner|inner_epoch)_?(\d+)(?:[/_]|$)/;

/** Renames metrics that stand once for each update of a step: the first one gets `_first`, the last one the plain name. */
function namesByUpdate(names: readonly string[]): Map<string, string> {
  const families = new Map<string, { name: string; update: number }[]>();
  for (const name of names) {
    const update = UPDATE.exec(name);
    if (!update) continue;
    const base = name.replace(update[0], '').replace(/[/_]$/, '');
    families.set(base, [...(families.get(base) ?? []), { name, update: Number(update[1]) }]);
  }
  return new Map(
    [...families].flatMap(([base, family]) => {
      if (family.length < 2 || names.includes(base)) return [];
      const sorted = family.sort((a, b) => a.update - b.update);
      return [[sorted[0]!.name, `${base}_first`] as const, [sorted.at(-1)!.name, base] as const];
    }),
  );
}
