/**
 * Expert iteration: sample completions, keep the good ones, imitate them, repeat. The baseline beside GRPO: the same
 * problems, draws and rewards at every step, but nothing is learnt from the completions that failed.
 */
import type { Config } from '../config/schema.js';
import { UserError } from '../errors/user-error.js';
import { auditRollout } from '../imitation/audit/audit-rollout.js';
import { compareKept } from '../imitation/audit/compare-kept.js';
import type { Example } from '../imitation/examples.js';
import { keptMetrics, nothingKept, updateMetrics } from '../imitation/expert-report.js';
import { keepGood } from '../imitation/keep.js';
import { type SftResult, type SftStepOptions, sftStep } from '../imitation/sft.js';
import { permutation, seedOf } from '../maths/random.js';
import { completionRows } from '../observe/completion-rows.js';
import { rolloutMetrics } from '../observe/metrics.js';
import { Stopwatch } from '../observe/stopwatch.js';
import { describeFailures } from '../rewards/index.js';
import type { Batch } from '../step/batch.js';
import { compareRewards } from '../step/compare-rewards.js';
import { Control } from '../step/control.js';
import { joinObservers } from '../step/observer.js';
import { rollOut } from '../step/roll-out.js';
import { checkedStages, type Stages, stages as standardStages } from '../step/stages.js';
import type { Trainer } from '../step/trainer.js';
import { orderOf } from '../tasks/order/mixed-order.js';
import { ImitationAudit } from './findings/imitation-audit.js';
import type { Run } from './open-run.js';
import { type RunEnd, runSteps, type StepReport, type StepTurn } from './run-steps.js';
import { learningRateAt } from './schedule.js';

/**
 * Trains a run's model by expert iteration for `expert.iterations` rounds. A round is a step of the run: it is
 * evaluated, saved and resumed as one.
 *
 * @param stages - your own stages in place of the standard ones; those of the batch are used
 * @throws UserError when nothing says which completions are good
 */
export async function trainExpert(run: Run, stages: Partial<Stages> = {}): Promise<RunEnd> {
  const { config, task, progress, folder, watcher } = run;
  const { expert, rollout: sizes, optimizer, sft } = config;
  if (!task.isCorrect && expert.threshold === undefined) {
    throw new UserError(`the task ${task.name} cannot tell a right completion from a wrong one`, {
      hint: 'Set expert.threshold: completions with at least this reward are kept.',
    });
  }
  const order = orderOf(task, config.seed);
  const trainer: Trainer = {
    model: run.model,
    reference: undefined,
    task,
    optimizer: run.optimizer,
    // Nothing is learnt from a comparison: a group of equal rewards is as good as any.
    config: {
      ...config,
      rollout: { ...sizes, keepSupport: false },
      groups: { ...config.groups, refills: 0, replay: 0 },
    },
    // What is imitated is scored over the whole vocabulary.
    sampling: { ...run.sampling, keepSupport: false },
    control: new Control(config),
    stages: { ...standardStages, sample: run.sample, ...checkedStages(stages) },
    watch: run.watch,
    servers: run.servers,
    auditLack: run.auditLack,
    ownStages: Object.keys(stages),
  };
  const audit = await ImitationAudit.open(run, expert.iterations);
  const takeRound = async (iteration: number, turn: StepTurn): Promise<StepReport> => {
    const step = iteration + 1;
    const clock = new Stopwatch();
    const problems = order.at(iteration, sizes.prompts).map((i) => task.train[i]!);
    const batch = await rollOut(trainer, problems, iteration, joinObservers([clock]));
    compareRewards(trainer, batch);
    const kept = keepGood(batch, task, expert);
    const examples = kept.map((b) => exampleOf(batch, b));
    const parts = updatesOf(config, examples, iteration);
    const schedule = { ...optimizer, learningRate: sft.learningRate };
    const learningRate = learningRateAt(schedule, iteration, expert.iterations);
    const lesson = async (tell: () => void) => ({
      ...(parts[0] ?? { examples: [], seed: 0 }),
      measured: [
        ...(await auditRollout({ trainer, batch, step: iteration, tell })),
        compareKept(batch, { kept, examples, learnt: parts.flatMap((part) => part.examples) }, task, expert),
      ],
    });
    const {
      result: updates,
      stop,
      seconds,
    } = await audit.watch(iteration, turn, lesson, (observer) =>
      clock.stage('sft', () => imitate(run, parts, iteration, { learningRate, observer })),
    );

    const stepTokens = batch.sampledTokens;
    progress.tokens += stepTokens;
    const isKept = new Set(kept);
    folder.completions(completionRows(batch, step, (b) => ({ kept: isKept.has(b) })));
    const { failures } = batch.rewardTable;
    if (failures.length > 0) watcher.note?.(`step ${step}: ${describeFailures(failures)}`);
    if (kept.length === 0) watcher.note?.(`step ${step}: ${nothingKept(batch, expert.threshold)}`);
    const metrics = {
      step,
      ...rolloutMetrics(batch),
      ...keptMetrics(batch, kept),
      ...updateMetrics(updates),
      learning_rate: learningRate,
      num_tokens: progress.tokens,
      step_tokens: stepTokens,
    };
    return { metrics, seconds: { ...clock.seconds, ...seconds }, stop };
  };
  return await runSteps(run, expert.iterations, takeRound, audit.evaluation);
}

/** A prompt and one of its completions, token for token as sampled. */
function exampleOf(batch: Batch, b: number): Example {
  return { prompt: batch.prompts[batch.problemOf(b)]!.ids, completion: batch.completions_B[b]!.ids };
}

/** Examples of an update, and the seed that draws what they lose. */
interface Part {
  examples: readonly Example[];
  seed: number;
}

/** SFT on the examples for `expert.epochs` epochs, each in a new order; the last batch of one may be smaller. */
function updatesOf({ seed, expert, sft }: Config, examples: readonly Example[], iteration: number): Part[] {
  return Array.from({ length: expert.epochs }, (_, epoch) => {
    const order = permutation(examples.length, seed, iteration, epoch);
    const starts = Array.from(
      { length: Math.ceil(order.length / sft.batchSize) },
      (_, i) => i * sft.batchSize,
    );
    return starts.map((start) => ({
      examples: order.slice(start, start + sft.batchSize).map((i) => examples[i]!),
      seed: seedOf(seed, iteration, epoch, start),
    }));
  }).flat();
}

async function imitate(
  { config, model, optimizer, activationRoom, watch }: Run,
  parts: readonly Part[],
  iteration: number,
  own: Pick<SftStepOptions, 'learningRate' | 'observer'>,
): Promise<SftResult[]> {
  const { maxGradNorm } = config.optimizer;
  const { microBatchTokens, recompute } = config.train;
  const updates: SftResult[] = [];
  for (const { examples, seed } of parts) {
    const note = `Step ${iteration + 1} has changed the weights already: it is finished first.`;
    const options = {
      ...{ maxGradNorm, microBatchTokens, recompute, activationRoom, seed, ...own },
      dropout: config.lora.dropout,
      width: config.rollout.maxNewTokens,
      watch: updates.length > 0 ? watch.finishing(note) : watch,
    };
    updates.push(await sftStep(model, optimizer, examples, options));
  }
  return updates;
}
