import { AdamW, setThreads } from '@grpo/torch';
import { boundaryRows, type LogitsRow } from '../../audit/model/boundary-rows.js';
import type { Config } from '../../config/schema.js';
import { inputs, membersOf } from '../../doctor/inputs.js';
import { compare, type Gap, toleranceOf } from '../../doctor/tolerance.js';
import { mean } from '../../maths/moments.js';
import type { LossInput } from '../../objective/index.js';
import { stepRecordOf } from '../../observe/step-record.js';
import { StepRecorder } from '../../observe/step-recorder.js';
import { normsOf } from '../../observe/update-trace.js';
import type { Watch } from '../../progress/watch.js';
import { accumulateGradients } from '../../step/accumulate-gradients.js';
import { Control } from '../../step/control.js';
import { grpoStep, NotFiniteError } from '../../step/grpo-step.js';
import { joinObservers } from '../../step/observer.js';
import { samplingOf } from '../../step/sampling.js';
import { stages as standardStages } from '../../step/stages.js';
import type { Trainer } from '../../step/trainer.js';
import { updatesOf } from '../../step/updates.js';
import type { StepRecord } from '../../trace/index.js';
import { openReference } from '../grpo-trainer.js';
import { planMemory, withMemory } from '../memory-plan.js';
import { openTrained } from '../model-source.js';
import { loadLoss } from '../own-loss.js';
import { measureGradients } from '../preflight.js';
import { recordedProblems, recordedStages } from './recorded-stages.js';
import type { StepWeights } from './step-weights.js';

/** What the weights of a step give beside its record. */
export interface ModelReplay {
  /** The folder of the weights. */
  weights: string;
  /** How far the log-probs of the policy that these weights give lie from the recorded ones. */
  gap: Pick<Gap, 'mean' | 'max'>;
  /** The step with the settings of the replay, its completions scored and differentiated anew. */
  record: StepRecord;
  /** Norms of the gradient of the first update by parameter group, and of its parts. */
  gradient: { all: Norms; policy: Norms; kl?: Norms };
  /** KL(policy ‖ reference) over the whole vocabulary, mean over the trained tokens of the first update. */
  fullKl?: number;
  /** Rows of the logits about the boundary of the prompt and the asked completion; a masked-diffusion model has none. */
  boundary?: readonly LogitsRow[];
}

/** A norm of all, and one of each parameter group. */
export interface Norms {
  norm: number;
  groups: Readonly<Record<string, number>>;
}

/**
 * Scores and differentiates a recorded rollout with the weights that took the step. No weight changes.
 *
 * @param completion - the place of the one whose boundary rows are wanted
 * @returns as text, why these are not the weights of the step
 */
export async function replayWithModel(
  record: StepRecord,
  { folder, checkpoint, resolved: given }: StepWeights,
  completion: number,
  watch: Watch,
): Promise<ModelReplay | string> {
  const resolved = withMemory(given);
  const problems = recordedProblems(record);
  let plan: ReturnType<typeof planMemory> | undefined;
  if (given.config.threads !== undefined) setThreads(given.config.threads);
  const model = openTrained(given.config, {
    checkpoint,
    watch,
    beforeWeights: (shape) => {
      plan = planMemory(resolved, shape, { train: problems, eval: problems });
    },
  });
  const { microBatchTokens, activationRoom, lotBytes } = plan!;
  const config: Config = {
    ...given.config,
    train: { ...given.config.train, microBatchTokens, kindGradients: 0 },
  };
  const optimizer = new AdamW(model.decoder.trainable, config.optimizer);
  const progress = { step: record.step - 1, tokens: 0 };
  const opened = config.kl.beta > 0 ? openReference({ config, model, progress, watch }) : undefined;
  const { decoder: reference, owned: ownReference, teacher } = opened ?? {};
  try {
    const { module } = config.objective;
    const trainer: Trainer = {
      model,
      reference,
      teacher,
      task: { name: 'replay', train: problems, eval: [], rewards: [], stop: [] },
      optimizer,
      config,
      activationRoom,
      sampling: samplingOf(config, record.declared?.stop ?? [], lotBytes),
      control: controlOf(config, record),
      stages: {
        ...standardStages,
        ...recordedStages(record),
        ...(module !== undefined && { objective: await loadLoss(module) }),
        update: measureGradients,
      },
      watch,
    };
    using recorder = new StepRecorder(trainer);
    const rate = record.updates?.[0]?.learningRate ?? config.optimizer.learningRate;
    const step = grpoStep({ ...trainer, observers: [recorder] }, problems, record.step - 1, rate);
    await step.catch((error: unknown) => {
      if (!(error instanceof NotFiniteError)) throw error;
    });
    const { recorded } = recorder;
    const replayed = stepRecordOf(trainer, recorded, record.step);
    const gap = gapOf(record, replayed);
    if (gap.tokens > 0 && !(gap.max <= toleranceOf(record).max))
      return `the weights in ${folder} are not those that took step ${record.step}: their log-probs lie up to ${gap.max.toPrecision(3)} nats from the recorded ones`;
    const [update] = updatesOf(recorded.batch, config, record.step - 1);
    const partOf = async (
      change: (input: LossInput) => Partial<LossInput>,
      estimator = config.kl.estimator,
    ) => {
      const kls: number[] = [];
      const objective: typeof trainer.stages.objective = (input) =>
        trainer.stages.objective({ ...input, ...change(input), entropyCoefficient: 0 });
      const events = joinObservers([
        {
          microBatchDone: ({ scores, input }) =>
            kls.push(...(scores.fullKl_T?.toNumbers().filter((_, t) => input.mask?.[t] !== 0) ?? [])),
        },
      ]);
      const own = {
        ...trainer,
        config: { ...config, kl: { ...config.kl, estimator } },
        stages: { ...trainer.stages, objective },
      };
      await accumulateGradients(own, recorded.batch, update!, events, watch);
      const { gradNorm, gradNorms } = optimizer.norms();
      optimizer.zeroGrad();
      return { norms: { norm: gradNorm, groups: normsOf(gradNorms, new Set()).gradNorms! }, kls };
    };
    // The full KL is computed with the log-probs, whether it enters the loss or not.
    const isCausal = !model.decoder.config.diffusion;
    const policy = await partOf(
      ({ betas }) => ({ betas: Array.from(betas, () => 0) }),
      reference && isCausal ? 'full' : undefined,
    );
    const kl =
      reference && (await partOf(({ advantages }) => ({ advantages: Array.from(advantages, () => 0) })));
    const first = replayed.updates![0]!;
    return {
      weights: folder,
      gap: { mean: gap.mean, max: gap.max },
      record: replayed,
      gradient: {
        all: { norm: first.gradNorm!, groups: first.gradNorms! },
        policy: policy.norms,
        ...(kl && { kl: kl.norms }),
      },
      ...(policy.kls.length > 0 && { fullKl: mean(policy.kls) }),
      ...(isCausal && {
        boundary: boundaryRows(model, config, {
          prompt: recorded.batch.prompts[recorded.batch.problemOf(completion)]!.ids,
          completion: recorded.batch.completions_B[completion]!.ids,
        }),
      }),
    };
  } finally {
    ownReference?.dispose();
    optimizer.dispose();
    model.decoder.dispose();
  }
}

/** The weights of the objective as the step had them: those that follow the run are no setting. */
function controlOf(config: Config, { updates: [update] = [] }: StepRecord): Control {
  const { kl, entropy } = config;
  const beta = update?.beta;
  const isMoved = kl.control !== 'fixed' && beta !== undefined && kl.place === 'loss';
  return new Control(
    { kl: isMoved ? { ...kl, warmupSteps: 0 } : kl, entropy },
    {
      betas: isMoved ? { '': { beta, recent: [] } } : {},
      entropy: {
        coefficient: (entropy.adaptive && update?.entropyCoefficient) || entropy.coefficient,
        last: null,
      },
      updates: 0,
    },
  );
}

/** Over the completions of the first update of either. */
function gapOf(recorded: StepRecord, replayed: StepRecord): Gap {
  const byPlace = (record: StepRecord) => {
    const [update] = record.updates ?? [];
    const rows = inputs.firstPolicyLogprobs.from(record);
    return new Map(update && rows ? membersOf(record, update).map((b, i) => [b, rows[i]!]) : []);
  };
  const [own, other] = [byPlace(recorded), byPlace(replayed)];
  const both = [...own.keys()].filter((b) => other.has(b));
  return compare(
    both.map((b) => own.get(b)!),
    both.map((b) => other.get(b)!),
  );
}
