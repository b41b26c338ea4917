/** Which settings of a reward belong to which kind of it. */
import { basename, extname } from 'node:path';
import type { RewardEntry } from './schema.js';

interface Kind {
  /** Settings that it cannot do without. */
  needs?: readonly (keyof RewardEntry)[];
  takes?: readonly (keyof RewardEntry)[];
}

/** Where a reward comes from: exactly one of these. */
const SOURCES = ['module', 'builtin', 'model', 'judge'] as const;

const OF_ALL: readonly string[] = [...SOURCES, 'name', 'weight'];

const KINDS: Readonly<Record<(typeof SOURCES)[number], Kind>> = {
  module: { takes: ['timeoutSeconds', 'components', 'tiers', 'tierKey'] },
  builtin: {},
  model: {},
  judge: { takes: ['tiers', 'tierKey'] },
};

const BUILTINS: Readonly<Record<NonNullable<RewardEntry['builtin']>, Kind>> = {
  'think-format': {},
  accuracy: {},
  'cosine-length': {
    needs: ['maxTokens'],
    takes: ['correctShort', 'correctLong', 'wrongShort', 'wrongLong'],
  },
  repetition: { takes: ['ngram', 'maxPenalty'] },
  overlong: { needs: ['maxTokens', 'buffer'] },
};

/** The name of a reward in the metrics: its own, or that of its file, model or built-in; `judge`. */
export function rewardName({ name, module, builtin, model }: RewardEntry): string {
  if (name !== undefined) return name;
  if (module !== undefined) return basename(module, extname(module));
  if (model !== undefined) return basename(model);
  return builtin ?? 'judge';
}

/** Why the settings of a reward are wrong; undefined when all is well. */
export function rewardProblem(reward: RewardEntry): string | undefined {
  const { builtin, judge, tiers, tierKey, maxTokens = 0, buffer = 0 } = reward;
  const given = SOURCES.filter((source) => reward[source] !== undefined);
  const [source] = given;
  if (source === undefined || given.length > 1)
    return `takes one of module, builtin, model and judge, and has ${source === undefined ? 'none' : given.length}`;
  const label = builtin ?? source;
  const { needs = [], takes = [] } = builtin ? BUILTINS[builtin] : KINDS[source];
  const missing = needs.find((key) => reward[key] === undefined);
  if (missing !== undefined) return `${label} needs ${missing}`;
  const known = [...OF_ALL, ...needs, ...takes];
  const stray = Object.entries(reward).find(([key, value]) => value !== undefined && !known.includes(key));
  if (stray) return `${stray[0]} has no effect on ${label}; take it out`;
  if (judge?.ask === 'ranking' && (judge.components ?? tiers) !== undefined)
    return 'judge: components and tiers have no effect on a ranking; take them out';
  if (tierKey !== undefined && tiers === undefined) return 'tierKey has no effect without tiers; take it out';
  return buffer > maxTokens
    ? `a buffer of ${buffer} tokens does not fit into maxTokens=${maxTokens}`
    : undefined;
}
