/** A batch as its single groups, and groups of any origin as one batch. */
import { UserError } from '../errors/user-error.js';
import type { RewardFacts, RewardFailure, RewardTable } from '../rewards/index.js';
import { Batch } from './batch.js';

/** Each group as a batch of its own. A failure of the whole batch stays with the first. */
export function groupsOf({ problems, prompts, completions_B, rewardTable, groupSize }: Batch): Batch[] {
  return problems.map((problem, p) => {
    const [from, to] = [p * groupSize, (p + 1) * groupSize];
    const { seconds: _, ...table } = rewardTable;
    const isOwn = ({ index }: RewardFailure) =>
      index === null ? p === 0 : Math.floor(index / groupSize) === p;
    return new Batch({
      problems: [problem],
      prompts: [prompts[p]!],
      completions_B: completions_B.slice(from, to),
      rewardTable: {
        ...table,
        columns: rewardTable.columns.map((column) => column.slice(from, to)),
        ...(rewardTable.grounds && { grounds: rewardTable.grounds.map((column) => column.slice(from, to)) }),
        unscored: rewardTable.unscored.slice(from, to),
        failures: rewardTable.failures.filter(isOwn).map((failure) => moved(failure, -from)),
        ...(rewardTable.facts && { facts: factsOf(rewardTable.facts, (values) => values.slice(from, to)) }),
      },
    });
  });
}

/**
 * Groups of any origin as one batch; their totals are formed anew.
 *
 * @param like - has the rewards, and their weights
 * @param replaced - groups that have no part in the batch: only their failures are kept, without a place
 * @throws UserError when the groups have different rewards
 */
export function joinGroups(groups: readonly Batch[], like: RewardTable, replaced: readonly Batch[]): Batch {
  const tables = groups.map(({ rewardTable }) => rewardTable);
  const { names, weights, facts } = like;
  for (const table of tables) requireSameRewards(names, table.names);
  const size = groups[0]!.completions_B.length;
  const lost = replaced.flatMap(({ rewardTable }) =>
    rewardTable.failures.map((failure) => ({ ...failure, index: null })),
  );
  const rewardTable: RewardTable = {
    names,
    weights,
    columns: names.map((_, k) => Float64Array.from(tables.flatMap(({ columns }) => [...columns[k]!]))),
    ...(tables.some(({ grounds }) => grounds) && {
      grounds: names.map((_, k) =>
        tables.flatMap(({ grounds, unscored }) => grounds?.[k] ?? Array.from(unscored, () => null)),
      ),
    }),
    unscored: Uint8Array.from(tables.flatMap(({ unscored }) => [...unscored])),
    failures: [
      ...tables.flatMap(({ failures }, p) => failures.map((failure) => moved(failure, p * size))),
      ...lost,
    ],
    ...(facts && tables.every((table) => table.facts) && { facts: joinedFacts(tables) }),
  };
  return new Batch({
    problems: groups.flatMap(({ problems }) => problems),
    prompts: groups.flatMap(({ prompts }) => prompts),
    completions_B: groups.flatMap(({ completions_B }) => completions_B),
    rewardTable,
  });
}

const moved = (failure: RewardFailure, by: number): RewardFailure =>
  failure.index === null ? failure : { ...failure, index: failure.index + by };

/** The facts, with those that have one value per completion mapped. */
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
