import { compareExamples } from '../imitation/audit/compare-examples.js';
import { examplesOf } from '../imitation/examples.js';
import { sftStep } from '../imitation/sft.js';
import { seedOf } from '../maths/random.js';
import { DataOrder } from '../tasks/order/data-order.js';
import { ImitationAudit } from './findings/imitation-audit.js';
import type { Run } from './open-run.js';
import { type RunEnd, runSteps, type StepReport, type StepTurn } from './run-steps.js';
import { learningRateAt } from './schedule.js';

/** Fine-tunes a run's model on its task's demonstrations for `sft.steps` steps. */
export async function trainSft(run: Run): Promise<RunEnd> {
  const { config, model, optimizer, task, progress, watch } = run;
  const { steps, batchSize, learningRate } = config.sft;
  const examples = examplesOf(model, task, watch.finishing());
  const problems = task.train.filter(({ demonstration }) => demonstration !== undefined);
  const order = new DataOrder(examples.length, config.seed);
  const audit = await ImitationAudit.open(run, steps);
  const takeStep = async (step: number, turn: StepTurn): Promise<StepReport> => {
    const batch = order.at(step, batchSize).map((i) => examples[i]!);
    const rate = learningRateAt({ ...config.optimizer, learningRate }, step, steps);
    const seed = seedOf(config.seed, step);
    const lesson = () => {
      const measured = compareExamples(model, batch, problems, { seed: config.seed, step, batchSize });
      return { examples: batch, seed, measured: [measured] };
    };
    const { result, stop, seconds } = await audit.watch(step, turn, lesson, (observer) =>
      sftStep(model, optimizer, batch, {
        learningRate: rate,
        maxGradNorm: config.optimizer.maxGradNorm,
        microBatchTokens: config.train.microBatchTokens,
        recompute: config.train.recompute,
        activationRoom: run.activationRoom,
        dropout: config.lora.dropout,
        width: config.rollout.maxNewTokens,
        seed,
        watch,
        observer,
      }),
    );
    const stepTokens = batch.reduce((sum, { prompt }) => sum + prompt.length, result.tokens);
    progress.tokens += stepTokens;
    const metrics = {
      step: step + 1,
      loss: result.loss,
      entropy: result.entropy,
      grad_norm: result.gradNorm,
      learning_rate: rate,
      'completions/mean_length': result.tokens / batch.length,
      num_tokens: progress.tokens,
      step_tokens: stepTokens,
    };
    return { metrics, seconds, stop };
  };
  return await runSteps(run, steps, takeStep, audit.evaluation);
}
