import { join } from 'node:path';
import { type ResolvedConfig, requireModelKind, rewardName } from '../config/index.js';
import type { Config } from '../config/schema.js';
import { usesLora } from '../config/sections/lora.js';
import { UserError } from '../errors/user-error.js';
import { sweepTemporary } from '../formats/atomic-file.js';
import { pinModel } from '../hub/model-folder.js';
import type { Estimate } from '../memory/estimate.js';
import { auditLack } from '../memory/memory-lines.js';
import {
  type LoadedModel,
  type LoadOptions,
  loadModel,
  type Model,
  type ModelFolder,
  writeRandomWeights,
} from '../models/index.js';
import type { Watch } from '../progress/watch.js';
import type { SamplingOptions } from '../rollout/index.js';
import { samplingOf } from '../step/sampling.js';
import { type TinyModelSize, writeArithmeticModelFiles } from '../tasks/arithmetic/arithmetic-model.js';
import type { Task } from '../tasks/task.js';
import { tokenizerFingerprint } from '../text/tokenizer-fingerprint.js';
import { resolveDevice } from './device.js';
import { planMemory } from './memory-plan.js';

/** The model that a run starts from: the configured one, or the tiny one in the run folder. */
export const initialModel = ({ model, output }: Config) => model ?? join(output, 'model');

/** Models of a hub by their commits, so that the run stays the same one, resumed too, when a branch moves on. */
export function withPinnedModels(resolved: ResolvedConfig): ResolvedConfig {
  const { config, provenance } = resolved;
  const model = config.model === undefined ? undefined : pinModel(config.model);
  const rewards = config.rewards.map((reward) =>
    reward.model === undefined
      ? reward
      : { ...reward, model: pinModel(reward.model), name: rewardName(reward) },
  );
  const teacher = config.teacher.model === undefined ? {} : { model: pinModel(config.teacher.model) };
  const pinned = { ...resolved, config: { ...config, rewards, teacher: { ...config.teacher, ...teacher } } };
  if (model === undefined || model === config.model) return pinned;
  return {
    ...pinned,
    config: { ...pinned.config, model },
    provenance: { ...provenance, model: `${provenance.model} (${config.model})` },
  };
}

/** How a configured model is opened. */
interface OpenOptions extends Pick<LoadOptions, 'watch' | 'beforeWeights'> {
  /** What the run is resumed from. */
  checkpoint?: string | undefined;
}

/** Loads a model as it is configured: with its adapters, where it has some. */
export function openModel(config: Config, { checkpoint, ...loading }: OpenOptions = {}): LoadedModel {
  const { dtype, seed } = config;
  const { adapter, rank, alpha, targets } = config.lora;
  const on = { dtype, device: resolveDevice(config.device), ...loading };
  if (!usesLora(config)) return loadModel(checkpoint ?? initialModel(config), on);
  const stored = checkpoint ?? adapter;
  const lora = stored !== undefined ? { adapter: stored } : { rank, alpha: alpha!, targets, seed };
  return loadModel(initialModel(config), { ...on, lora });
}

/**
 * The model that a run trains, ready for its optimizer.
 *
 * @throws UserError: the model is an adapter, and nothing says that adapters are trained
 */
export function openTrained(config: Config, options: OpenOptions): LoadedModel {
  const model = openModel(config, options);
  const { decoder } = model;
  if (decoder.lora && !usesLora(config)) {
    const { base } = decoder.lora.settings;
    decoder.dispose();
    throw new UserError(`${config.model} is an adapter of ${base}, not a model`, {
      hint: `To train the adapter on: model=${base} lora.adapter=${config.model}\nTo train all weights: npx grpo merge ${config.model} FOLDER, then model=FOLDER`,
    });
  }
  for (const parameter of decoder.trainable.values()) parameter.requiresGrad = true;
  return model;
}

/**
 * Loads the teacher of a run.
 *
 * @param student - the model that is trained
 * @throws UserError: its tokens, its context or its kind are not the student's; what `loadModel` throws
 */
export function openTeacher(config: Config, student: Model, watch?: Watch): LoadedModel {
  const name = config.teacher.model!;
  return loadModel(name, {
    dtype: config.dtype,
    device: resolveDevice(config.device),
    watch,
    beforeWeights: (teacher) => requireTeaches(name, teacher, student, config.kl.estimator),
  });
}

function requireTeaches(
  name: string,
  { tokenizer, config }: ModelFolder,
  student: Model,
  estimator: Config['kl']['estimator'],
): void {
  const own = student.decoder.config;
  const refuse = (problem: string, hint: string) => {
    throw new UserError(`the teacher ${name} ${problem}`, { hint });
  };
  if (tokenizerFingerprint(tokenizer) !== tokenizerFingerprint(student.tokenizer))
    refuse(
      'has another tokenizer than the model that is trained: a token of the one is none of the other',
      'Take a teacher of the same family, such as a larger model of it.',
    );
  if ((config.diffusion === undefined) !== (own.diffusion === undefined))
    refuse(
      `${config.diffusion ? 'fills masked places' : 'predicts the next token'}, and the model that is trained does not`,
      'Take a teacher of the same kind.',
    );
  if (estimator === 'full' && config.vocabSize < own.vocabSize)
    refuse(
      `has ${config.vocabSize} rows in its vocabulary projection, the model that is trained ${own.vocabSize}: the KL over the vocabulary would lack some`,
      'Use kl.estimator=k2, which compares the sampled tokens only.',
    );
  if (estimator === 'full' && config.logitSoftcap !== own.logitSoftcap)
    refuse(
      `has soft-capped logits (${config.logitSoftcap ?? 'none'}) other than the model that is trained (${own.logitSoftcap ?? 'none'})`,
      'Use kl.estimator=k2, which compares the sampled tokens only.',
    );
}

/**
 * Opens a model that only samples, and how it does so within the run's memory.
 *
 * @param resolved - with `memory` in bytes
 * @param task - whose held-out problems are asked
 * @throws UserError: they do not fit
 */
export function openSampler(
  resolved: ResolvedConfig,
  task: Pick<Task, 'train' | 'eval' | 'stop'>,
  watch?: Watch,
): { model: LoadedModel; sampling: SamplingOptions; auditLack: string | undefined } {
  const { config } = resolved;
  let plan: Estimate | undefined;
  const model = openModel(config, {
    watch,
    beforeWeights: (shape) => {
      requireModelKind(resolved, shape.config.diffusion !== undefined);
      plan = planMemory(resolved, shape, task);
    },
  });
  return { model, sampling: samplingOf(config, task.stop, plan!.lotBytes), auditLack: auditLack(plan!) };
}

/** Tasks for which a tiny model is made. That of sudoku fills masked places; chess has long rows, and RookWorld is a GPT-2. */
const TINY: Partial<Record<NonNullable<Config['task']['name']>, Partial<TinyModelSize>>> = {
  arithmetic: {},
  sudoku: { family: 'a2d-qwen2', layers: 3 },
  chess: { family: 'gpt2', layers: 3, intermediateSize: 512, maxLength: 384 },
};

/** Whether a run without a configured model makes a masked-diffusion model. */
export const makesDiffusion = ({ task }: Config): boolean =>
  TINY[task.name!]?.family?.startsWith('a2d') ?? false;

/** Puts a tiny model for the task, made of the seed, into the run folder: for runs without a configured model. */
export async function makeTinyModel(config: Config): Promise<void> {
  const dir = initialModel(config);
  sweepTemporary(dir);
  await writeArithmeticModelFiles(dir, TINY[config.task.name!]);
  writeRandomWeights(dir, config.seed);
}
