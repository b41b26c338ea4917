/** A batch as its single groups, and groups of any origin as one batch. */
import { UserError } from '../errors/user-error.js';
import {
  joinTables,
  moveFailure,
  type RewardFacts,
  type RewardFailure,
  type RewardTable,
} from '../rewards/index.js';
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
        failures: rewardTable.failures.filter(isOwn).map((failure) => moveFailure(failure, -from)),
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
  const { names, weights } = like;
  for (const table of tables) requireSameRewards(names, table.names);
  const lost = replaced.flatMap(({ rewardTable }) =>
    rewardTable.failures.map((failure) => ({ ...failure, index: null })),
  );
  const joined = joinTables(tables);
  const rewardTable = { ...joined, names, weights, failures: [...joined.failures, ...lost] };
  return new Batch({
    problems: groups.flatMap(({ problems }) => problems),
    prompts: groups.flatMap(({ prompts }) => prompts),
    completions_B: groups.flatMap(({ completions_B }) => completions_B),
    rewardTable,
  });
}

/** The facts, with those that have one value per completion mapped. */
function factsOf(facts: RewardFacts, map: <T>(values: T[]) => T[]): RewardFacts {
  const { providers, replies } = facts;
  return {
    ...facts,
    ...(providers && { providers: map(providers) }),
    ...(replies && { replies: map(replies) }),
  };
}

function requireSameRewards(names: readonly string[], others: readonly string[]): void {
  if (names.join('\0') === others.join('\0')) return;
  throw new UserError(
    `stored groups have the rewards ${others.join(', ')}, this step's have ${names.join(', ')}`,
    { hint: 'They are of another task. Set groups.replay=0 to go on without them.' },
  );
}
