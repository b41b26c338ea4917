import type { Measured } from '../../audit/context.js';
import type { Explained } from '../../audit/rewards/pairing.js';
import { compareGradings } from '../../audit/rewards/second-grading.js';
import { type Pair, worstByQuantity, worstOf } from '../../audit/worst.js';
import { permutation } from '../../maths/random.js';
import { describeError } from '../../rewards/describe-error.js';
import { isJudge, type Reward } from '../../rewards/index.js';
import type { Comparison } from '../../trace/index.js';
import type { EvalCompletion } from '../eval-completion.js';
import { type EvalAuditContext, heldOut } from './context.js';

const handOver = 'evaluation';

/** Completions that are graded again: a wrong row shows in one that earns something, which few may do. */
const GRADED = 16;

/** Grades of completions beside those that they earn with their own rows: all by `isCorrect`, some by each reward. */
export async function compareGrades(context: EvalAuditContext): Promise<Measured[]> {
  const measured = [compareCorrect(context)];
  for (const reward of context.trainer.task.rewards) measured.push(await compareReward(context, reward));
  return measured;
}

function compareCorrect(context: EvalAuditContext): Measured {
  const { task } = context.trainer;
  const held = heldOut(context);
  const { completions } = context.result;
  const graded = completions.filter(({ correct, problem }) => correct !== null && held[problem]);
  if (!task.isCorrect || graded.length === 0) return { comparisons: [] };
  try {
    const asked = () =>
      graded.map(({ completion, problem }) => task.isCorrect!(completion, held[problem]!.row));
    const plain = asked();
    const pairs = graded.map(({ correct, problem }, i): Pair => {
      const named = (grade: boolean | null) => `problem ${problem + 1}: ${grade}`;
      return { found: named(correct), plain: named(plain[i]!), bound: 0 };
    });
    // Chance is found out.
    if (
      pairs.some(({ found, plain: own }) => found !== own) &&
      asked().some((grade, i) => grade !== plain[i])
    )
      return {
        handOver,
        missing:
          'an isCorrect that depends on completion and row alone: it answers otherwise when it is asked again',
      };
    return { comparisons: worstOf(handOver, 'grade of a completion by isCorrect', pairs) };
  } catch (error) {
    return { handOver, missing: `an isCorrect that can be asked again: it ${describeError(error)}` };
  }
}

async function compareReward(context: EvalAuditContext, reward: Reward): Promise<Measured> {
  const { failures, completions } = context.result;
  const lack = (missing: string): Measured => ({ handOver, missing });
  if (isJudge(reward)) return lack(`a reward that asks no server: ${reward.name} is not asked again`);
  if (failures.some((failure) => failure.reward === reward.name))
    return lack(`values of the reward ${reward.name} without a failure`);
  const compared: Comparison[] = [];
  // Greedy and sampled ones were graded apart, and a reward may compare those that it is given.
  for (const decoding of ['greedy', 'sampled'] as const) {
    const own = completions.filter((one) => one.decoding === decoding);
    if (own.length === 0 && decoding === 'sampled') continue;
    const outcome = await compareDecoded(context, reward, own);
    if ('missing' in outcome) return lack(outcome.missing);
    compared.push(...outcome.comparisons);
  }
  return { comparisons: worstByQuantity(compared) };
}

/** The values of a reward for completions of one decoding, problem after problem. */
async function compareDecoded(
  context: EvalAuditContext,
  reward: Reward,
  completions: readonly EvalCompletion[],
): Promise<Explained> {
  const { trainer, step } = context;
  const { config } = trainer;
  const problems = heldOut(context);
  const size = completions.length / problems.length;
  if (completions.length === 0 || completions.some(({ problem }, b) => problem !== Math.floor(b / size)))
    return { missing: 'as many completions of each held-out problem, in their order' };
  const batch = {
    problems,
    completions_B: completions.map(({ completion, ids }) => ({ text: completion, ids: [...ids] })),
  };
  const recorded = Float64Array.from(completions, ({ rewards }) => rewards[reward.name] ?? Number.NaN);
  const members = permutation(completions.length, config.seed, step)
    .sort((a, b) => Number(Boolean(recorded[b])) - Number(Boolean(recorded[a])))
    .slice(0, GRADED)
    .sort((a, b) => a - b);
  const outcome = await compareGradings({ config, batch, reward, recorded, members });
  if ('missing' in outcome) return outcome;
  // The places are those of an evaluation: no completion of a step has them.
  return {
    comparisons: outcome.comparisons.map(({ prompt: _, completion: __, ...one }) => ({ ...one, handOver })),
  };
}
