import { UserError } from '../errors/user-error.js';
import { type RewardFacts, type RewardFailure, type RewardTable, totals } from '../rewards/index.js';
import type { Completion } from '../rollout/index.js';
import type { Problem } from '../tasks/task.js';
import type { RenderedPrompt } from '../text/render.js';

/** Groups as sampled and scored: P prompts, B = P × G completions, prompt after prompt. */
export interface Drawn {
  problems: readonly Problem[];
  prompts: RenderedPrompt[];
  completions_B: Completion[];
  rewardTable: RewardTable;
  /** Weighted sums; NaN where a completion could not be scored. */
  rewards_B: Float64Array;
}

/** Tokens as TRL counts them: a prompt once for each of its completions. */
export function tokensIn({ prompts, completions_B }: Drawn): number {
  const group = completions_B.length / prompts.length;
  return completions_B.reduce(
    (sum, { ids }, b) => sum + ids.length + prompts[Math.floor(b / group)]!.ids.length,
    0,
  );
}

/** Each group by itself. A failure of the whole batch stays with the first. */
export function groupsOf({ problems, prompts, completions_B, rewardTable, rewards_B }: Drawn): Drawn[] {
  const size = completions_B.length / problems.length;
  return problems.map((problem, p) => {
    const from = p * size;
    const to = from + size;
    const isOwn = ({ index }: RewardFailure) => (index === null ? p === 0 : Math.floor(index / size) === p);
    return {
      problems: [problem],
      prompts: [prompts[p]!],
      completions_B: completions_B.slice(from, to),
      rewardTable: {
        ...rewardTable,
        columns: rewardTable.columns.map((column) => column.slice(from, to)),
        ...(rewardTable.grounds && { grounds: rewardTable.grounds.map((column) => column.slice(from, to)) }),
        dropped: rewardTable.dropped.slice(from, to),
        failures: rewardTable.failures.filter(isOwn).map((failure) => moved(failure, -from)),
        ...(rewardTable.facts && { facts: factsOf(rewardTable.facts, (values) => values.slice(from, to)) }),
      },
      rewards_B: rewards_B.slice(from, to),
    };
  });
}

/**
 * Groups of any origin as one batch; their totals are formed anew.
 *
 * @param like - has the rewards, and their weights
 * @param gone - groups that gave way: only what failed in them is kept, without a place
 * @throws UserError when the groups have different rewards
 */
export function joined(groups: readonly Drawn[], like: RewardTable, gone: readonly Drawn[]): Drawn {
  const tables = groups.map(({ rewardTable }) => rewardTable);
  const { names, weights, facts } = like;
  for (const table of tables) requireSameRewards(names, table.names);
  const size = groups[0]!.completions_B.length;
  const lost = gone.flatMap(({ rewardTable }) =>
    rewardTable.failures.map((failure) => ({ ...failure, index: null })),
  );
  const rewardTable: RewardTable = {
    names,
    weights,
    columns: names.map((_, k) => Float64Array.from(tables.flatMap(({ columns }) => [...columns[k]!]))),
    ...(tables.some(({ grounds }) => grounds) && {
      grounds: names.map((_, k) =>
        tables.flatMap(({ grounds, dropped }) => grounds?.[k] ?? Array.from(dropped, () => null)),
      ),
    }),
    dropped: Uint8Array.from(tables.flatMap(({ dropped }) => [...dropped])),
    failures: [
      ...tables.flatMap(({ failures }, p) => failures.map((failure) => moved(failure, p * size))),
      ...lost,
    ],
    ...(facts && tables.every((table) => table.facts) && { facts: joinedFacts(tables) }),
  };
  return {
    problems: groups.flatMap(({ problems }) => problems),
    prompts: groups.flatMap(({ prompts }) => prompts),
    completions_B: groups.flatMap(({ completions_B }) => completions_B),
    rewardTable,
    rewards_B: totals(rewardTable),
  };
}

const moved = (failure: RewardFailure, by: number): RewardFailure =>
  failure.index === null ? failure : { ...failure, index: failure.index + by };

/** The facts with those that are one a completion mapped. */
function factsOf(facts: RewardFacts, map: <T>(values: T[]) => T[]): RewardFacts {
  const { providers, replies } = facts;
  return {
    ...facts,
    ...(providers && { providers: map(providers) }),
    ...(replies && { replies: map(replies) }),
  };
}

function joinedFacts(tables: readonly RewardTable[]): RewardFacts {
  const all = tables.map(({ facts }) => facts!);
  return {
    ...all[0],
    ...(all[0]!.providers && { providers: all.flatMap(({ providers = [] }) => providers) }),
    ...(all[0]!.replies && { replies: all.flatMap(({ replies = [] }) => replies) }),
  };
}

function requireSameRewards(names: readonly string[], others: readonly string[]): void {
  if (names.join('\0') === others.join('\0')) return;
  throw new UserError(
    `stored groups have the rewards ${others.join(', ')}, this step's have ${names.join(', ')}`,
    { hint: 'They are of another task. Set groups.replay=0 to go on without them.' },
  );
}
