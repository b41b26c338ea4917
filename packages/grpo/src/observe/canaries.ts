import { Watch } from '../progress/watch.js';
import { describeFailures, isJudge, type RewardTable } from '../rewards/index.js';
import type { Completion } from '../rollout/index.js';
import type { Trainer } from '../step/trainer.js';
import {
  type CanaryGroup,
  canaryGroups,
  type GradedCanary,
  gradeCanaries,
  isMisjudged,
} from '../tasks/canaries/index.js';
import { AGAIN, PART, type Probes, TOTAL } from '../trace/index.js';

/** What the rewards make of canaries, for the record of a step. */
export interface CanaryProbe {
  canaries: NonNullable<Probes['canaries']>;
  /** What to tell at once. */
  news: string[];
}

/**
 * Grades canaries as a step grades its completions, without the judges, which ask a server.
 *
 * @param step - counted from 0; it draws the rows
 * @returns nothing where it is not the step's turn, or no row has a right answer
 */
export async function probeCanaries(trainer: Trainer, step: number): Promise<CanaryProbe | undefined> {
  const { task, config, stages, watch = new Watch() } = trainer;
  const every = config.train.canaries;
  if (every === 0 || step % every !== 0) return undefined;
  const rewards = task.rewards.filter((reward) => !isJudge(reward));
  const judges = task.rewards.filter(isJudge);
  const groups = rewards.length === 0 ? [] : canaryGroups(task, { seed: config.seed, draw: step });
  if (groups.length === 0) return undefined;
  // As many in each group: a stage of somebody's own may count on it. Two more are the gold again; of one alone a batch in
  // reverse would have the gold in the same places.
  const size = 2 + Math.max(...groups.map(({ canaries }) => canaries.length));
  const completions = groups.map((group) => completionsOf(trainer, group, size));
  const problems = groups.map(({ problem }) => problem);
  const scoring = { stage: 'canaries', done: 0, total: size * groups.length, unit: 'completions' };
  const table = await watch.until(scoring, () =>
    stages.score({ ...task, rewards }, problems, completions, 'drop'),
  );
  const isPart = judges.some(({ weight }) => weight !== 0);
  const graded = gradeCanaries(task, groups, table, { size, isPart });
  return {
    canaries: [
      ...graded.flatMap((canary) => entriesOf(canary, isPart ? PART : TOTAL)),
      ...groups.flatMap(({ canaries }, row) => againIn(table, row, row * size, canaries.length, size)),
    ],
    news: [...failuresIn(table), ...(step === 0 ? leftOut(judges) : [])],
  };
}

function completionsOf({ model }: Trainer, { canaries }: CanaryGroup, size: number): Completion[] {
  return Array.from({ length: size }, (_, i) => {
    const text = (canaries[i] ?? canaries[0])!.completion;
    const ids = model.tokenizer.encode(text);
    const none = new Float32Array(ids.length);
    return { ids, text, finishReason: 'stop', logprobs: none, sampledLogprobs: none };
  });
}

/** What the gold of a group earned in its other places: a reward that differs there, where one does. */
function againIn(
  { names, columns }: RewardTable,
  row: number,
  first: number,
  canaries: number,
  size: number,
): CanaryProbe['canaries'] {
  const others = Array.from({ length: size - canaries }, (_, i) => first + canaries + i);
  const given = columns.flatMap((column, k) => {
    const own = column[first]!;
    const values = others.map((b) => column[b]!);
    // A reward that failed here or there says nothing of the other.
    return [own, ...values].some(Number.isNaN)
      ? []
      : [{ reward: names[k]!, own, value: values.find((value) => value !== own) ?? own }];
  });
  const shown = given.find(({ own, value }) => own !== value) ?? given[0];
  return shown
    ? [
        {
          kind: AGAIN,
          reward: shown.reward,
          row,
          value: shown.value,
          least: shown.own,
          most: shown.own,
        },
      ]
    : [];
}

/** Of a canary that is as it should be only what it earned. */
function entriesOf(canary: GradedCanary, reward: string): CanaryProbe['canaries'] {
  const { kind, row, total, correct, least, most, leak } = canary;
  const bounds = { ...(least !== undefined && { least }), ...(most !== undefined && { most }) };
  const isOutside = total !== null && (total < (least ?? total) || total > (most ?? total));
  return [
    { kind, reward, row, value: total, ...bounds, ...(isOutside && { rule: deciding(canary) }) },
    ...(leak ? [{ kind, reward: leak.reward, row, value: leak.paid, most: 0, rule: deciding(leak) }] : []),
    ...(isMisjudged(kind, correct)
      ? [{ kind, reward: 'isCorrect', row, ...(correct ? { value: 1, most: 0 } : { value: 0, least: 1 }) }]
      : []),
  ];
}

const deciding = ({ reward, rule }: Pick<GradedCanary, 'reward' | 'rule'>) =>
  rule === null ? reward : `${reward}: ${rule}`;

const failuresIn = ({ failures }: RewardTable) =>
  failures.length === 0 ? [] : [`rewards that fail on canaries: ${describeFailures(failures)}`];

const leftOut = (judges: readonly { name: string }[]) =>
  judges.length === 0
    ? []
    : [
        `the rewards are checked with canaries, except ${judges.map(({ name }) => name).join(', ')}, which asks a server; grpo reward check includes it`,
      ];
