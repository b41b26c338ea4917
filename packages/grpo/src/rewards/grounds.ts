import type { Grounds, RewardFacts, RewardTable } from './reward-table.js';

type Grounded = Pick<RewardTable, 'names' | 'grounds'>;

/** One part of one reward: NaN where a completion has none of it. */
export interface PartColumn {
  reward: string;
  part: string;
  /** Length B. */
  values: Float64Array;
}

/** Every part that a reward gave to at least one completion, reward after reward. */
export function partColumns({ names, grounds = [] }: Grounded): PartColumn[] {
  return grounds.flatMap((column, k) => {
    const parts = new Set(column.flatMap((own) => Object.keys(own?.parts ?? {})));
    return [...parts].sort().map((part) => ({
      reward: names[k]!,
      part,
      values: Float64Array.from(column, (own) => own?.parts?.[part] ?? Number.NaN),
    }));
  });
}

/** The grounds of completion b by reward, as fields of a row; those that no reward gave are left out. */
export function groundsOf({ names, grounds = [] }: Grounded, b: number) {
  const byName = <T>(read: (ground: Grounds) => T | undefined) => {
    const found = names.flatMap((name, k) => {
      const ground = grounds[k]?.[b];
      const value = ground ? read(ground) : undefined;
      return value === undefined ? [] : [[name, value] as const];
    });
    return found.length > 0 ? Object.fromEntries(found) : undefined;
  };
  const parts = byName((ground) => ground.parts);
  const rules = byName((ground) => ground.rule);
  const providers = byName((ground) => ground.provider);
  const replies = byName((ground) => ground.reply);
  return {
    ...(parts && { reward_parts: parts }),
    ...(rules && { reward_rules: rules }),
    ...(providers && { reward_providers: providers }),
    ...(replies && { reward_replies: replies }),
  };
}

/** Providers and replies of the judges per completion, where any reward has some; of several rewards all of them. */
export function judgedBy(
  grounds: readonly (readonly (Grounds | null)[])[],
): Pick<RewardFacts, 'providers' | 'replies'> {
  const each = (key: 'provider' | 'reply') =>
    (grounds[0] ?? []).map((_, b) => grounds.flatMap((column) => column[b]?.[key] ?? []));
  const [providers, replies] = [each('provider'), each('reply')];
  return {
    ...(providers.some(({ length }) => length > 0) && {
      providers: providers.map((names) => names.join(' + ')),
    }),
    ...(replies.some(({ length }) => length > 0) && {
      replies: replies.map((texts) => (texts.length > 0 ? texts.join('\n') : null)),
    }),
  };
}
