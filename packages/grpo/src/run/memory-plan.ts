/** What a run will take, from its settings, its model's shape and the lengths of its prompts; before any weight is read. */

import { compilesEachShape } from '@grpo/torch';
import { auditedTokens } from '../audit/chosen.js';
import type { ConfigCommand, ResolvedConfig } from '../config/index.js';
import { truncates } from '../config/rules/inert.js';
import type { Config } from '../config/schema.js';
import { usesLora } from '../config/sections/lora.js';
import { isAudited } from '../config/sections/progress.js';
import { byteCount } from '../errors/byte-count.js';
import { UserError } from '../errors/user-error.js';
import type { Engine } from '../memory/decoding.js';
import { type Estimate, estimate, type Training, type Work } from '../memory/estimate.js';
import { type Reference, weightCount } from '../memory/holdings.js';
import { machineBudget } from '../memory/limit.js';
import { reasonsOf } from '../memory/memory-lines.js';
import { supportBytes } from '../memory/support-bytes.js';
import {
  adaptedLayers,
  adapterShape,
  type DecoderConfig,
  type ModelFolder,
  readShape,
} from '../models/index.js';
import { passesOf } from '../objective/index.js';
import { kindsOf } from '../step/kinds.js';
import type { Problem, Task } from '../tasks/task.js';
import { renderExample, renderPrompt } from '../text/render.js';
import { resolveDevice } from './device.js';

/** The same with `memory` as a number of bytes, which the run's record keeps for those who resume it. */
export function withMemory(resolved: ResolvedConfig): ResolvedConfig {
  const { config, provenance } = resolved;
  if (config.memory !== 'auto') return resolved;
  const { bytes, source } = machineBudget(resolveDevice(config.device));
  return {
    ...resolved,
    config: { ...config, memory: bytes },
    provenance: { ...provenance, memory: source },
  };
}

/** The tokens of a prompt, and of what follows it. */
interface Lengths {
  prompt: number;
  completion: number;
}

/** The longest of a task, in tokens. */
interface Longest {
  train: number;
  eval: number;
  /** How many of them are held out. */
  problems: number;
  demonstration: Lengths | undefined;
  /** Kinds of the problems that train, where their gradients are compared. */
  kinds: number;
}

type Shape = Pick<ModelFolder, 'config' | 'tokenizer' | 'template'>;

/** @param resolved - with `memory` in bytes */
export function estimateMemory(
  { command, config }: ResolvedConfig,
  shape: Shape,
  task: Pick<Task, 'train' | 'eval'>,
): Estimate & { with(changed: Config): Estimate } {
  const budget = config.memory as number;
  const kindKey = config.train.kindGradients > 0 ? config.kl.kindKey : undefined;
  const longest = longestOf(command, shape, task, kindKey);
  const of = (changed: Config, recompute: 'none' | 'layers'): Estimate => {
    const settled = { ...changed, train: { ...changed.train, recompute } };
    return estimate(workOf(command, settled, shape.config, longest), budget);
  };
  const planned = (changed: Config): Estimate => {
    const { recompute } = changed.train;
    if (recompute !== 'auto') return of(changed, recompute);
    // Only micro-batches that do not fit otherwise are computed again.
    const plain = of(changed, 'none');
    return plain.peak > budget ? of(changed, 'layers') : plain;
  };
  return { ...planned(config), with: planned };
}

/**
 * The plan of a run that is to begin.
 *
 * @param resolved - with `memory` in bytes
 * @throws UserError: it does not fit; the hint names settings that do
 */
export function planMemory(
  resolved: ResolvedConfig,
  shape: Shape,
  task: Pick<Task, 'train' | 'eval'>,
): Estimate {
  const { with: planned, ...plan } = estimateMemory(resolved, shape, task);
  requireFits(resolved, { ...plan, with: planned });
  return plan;
}

/** @throws UserError: the estimate exceeds `memory`; the hint names settings that fit */
export function requireFits(
  { config, provenance }: ResolvedConfig,
  { with: planned, ...plan }: ReturnType<typeof estimateMemory>,
): void {
  const budget = config.memory as number;
  if (plan.peak <= budget) return;
  const remedies = remediesOf(config, (changed) => planned(changed).peak <= budget);
  throw new UserError(
    `this run needs about ${byteCount(plan.peak)}, and memory allows ${byteCount(budget)} (${provenance.memory}): ${reasonsOf(plan)}`,
    {
      hint:
        remedies.length > 0
          ? `It would fit with one of: ${remedies.join(', ')}.`
          : 'No smaller setting would fit: take a smaller model, or a machine with more memory.',
    },
  );
}

/** Settings with which it fits, each by itself, as `key=value`. */
function remediesOf(config: Config, fits: (changed: Config) => boolean): string[] {
  const { rollout, lora } = config;
  const shorter = (maxNewTokens: number): Config => ({ ...config, rollout: { ...rollout, maxNewTokens } });
  let length = rollout.maxNewTokens;
  while (length > 1 && !fits(shorter(length))) length = Math.floor(length / 2);
  const half = { ...config, dtype: 'bfloat16' as const };
  const adapted = { lora: { ...lora, rank: 16 } };
  const changes: [string, Config][] = [
    ['train.recompute=layers', { ...config, train: { ...config.train, recompute: 'layers' } }],
    ['dtype=bfloat16', half],
    ['kl.beta=0', { ...config, kl: { ...config.kl, beta: 0 } }],
    [`rollout.maxNewTokens=${length}`, shorter(length)],
    ['lora.rank=16', { ...config, ...adapted }],
    ['dtype=bfloat16 lora.rank=16', { ...half, ...adapted }],
  ];
  return changes.filter(([, changed]) => fits(changed)).map(([text]) => text);
}

function workOf(command: ConfigCommand, config: Config, model: DecoderConfig, longest: Longest): Work {
  const size: Engine['size'] = config.dtype === 'bfloat16' ? 2 : 4;
  const { rollout } = config;
  const onCpu = resolveDevice(config.device) === 'cpu';
  const trains = command === 'train' || command === 'sft' || command === 'expert';
  const samples = command === 'train' || command === 'expert';
  const lora = usesLora(config) ? loraOf(config, model) : undefined;
  const sampling = (prompts: number, group: number, prompt: number) => ({
    prompts,
    group,
    longest: prompt,
    newTokens: newTokensAfter(prompt, config, model),
    adjusted: isAdjusted(rollout),
  });
  // Servers sample in other memory; here one short completion is sampled, by which they are probed.
  const isRemote = rollout.engine !== 'own';
  const { limit, samples: perProblem } = config.eval;
  const measures = command === 'eval';
  const asked = measures ? longest.eval : longest.train;
  // SFT learns demonstrations, the others what they sample.
  const own = (command === 'sft' && longest.demonstration) || {
    prompt: asked,
    completion: newTokensAfter(asked, config, model),
  };
  return {
    model,
    engine: { size, fuses: onCpu },
    compiles: onCpu && compilesEachShape(config.dtype),
    trained: trains ? (lora ? { adapters: lora.count } : 'weights') : undefined,
    reference:
      command === 'train' && config.kl.beta > 0 && config.teacher.engine === 'own'
        ? referenceOf(config, model, lora?.count)
        : undefined,
    rewardModels: config.rewards.reduce(
      (sum, reward) => sum + (reward.model === undefined ? 0 : size * weightCount(readShape(reward.model))),
      0,
    ),
    rollout: samples
      ? isRemote
        ? { ...sampling(1, 1, longest.train), newTokens: 1 }
        : sampling(rollout.prompts, rollout.group, longest.train)
      : undefined,
    support: command === 'train' ? keptBytes(config, model, longest.train) : 0,
    evaluation: isRemote
      ? undefined
      : command === 'generate'
        ? sampling(longest.problems, 1, longest.eval)
        : sampling(Math.min(limit, longest.problems), perProblem + 1, longest.eval),
    audit:
      (trains && isAudited(config)) || (measures && !model.diffusion)
        ? auditedTokens(weightCount(model), own, command === 'train' && !model.diffusion)
        : undefined,
    training: trains
      ? {
          ...trainingOf(command, config, model, { ...longest, own }),
          backward: {
            reaches: lora ? { targets: lora.targets } : 'weights',
            recomputes: config.train.recompute === 'layers',
          },
        }
      : undefined,
  };
}

/** Groups that are trained on; SFT and expert iteration have completions without neighbours. */
function trainingOf(
  command: ConfigCommand,
  config: Config,
  model: DecoderConfig,
  { own: { prompt, completion }, kinds }: Pick<Longest, 'kinds'> & { own: Lengths },
): Omit<Training, 'backward'> {
  const { rollout, sft, objective } = config;
  const { microBatchTokens } = config.train;
  if (command === 'train') {
    const prompts = rollout.prompts / objective.minibatches;
    return {
      prompts,
      group: rollout.group,
      ...passTokens(prompt, completion, model.diffusion && passesOf[config.diffusion.estimator]),
      microBatchTokens,
      kinds: Math.min(prompts, kinds),
    };
  }
  return {
    prompts: sft.batchSize,
    group: 1,
    ...passTokens(prompt, completion, model.diffusion && { shared: 0, own: 1 }),
    microBatchTokens,
    kinds: 1,
  };
}

/**
 * Tokens of the passes over a group. A causal model computes the prompt once and each completion; a masked-diffusion
 * model both together in every pass.
 */
function passTokens(
  prompt: number,
  completion: number,
  passes: { shared: number; own: number } | undefined,
): Pick<Training, 'shared' | 'own' | 'scored'> {
  if (!passes) return { shared: prompt, own: completion, scored: completion };
  const { shared, own } = passes;
  const tokens = prompt + completion;
  return { shared: shared * tokens, own: own * tokens, scored: (shared + own) * completion };
}

/** Bytes of the ids that sampling keeps for all tokens of a step. */
function keptBytes(config: Config, model: DecoderConfig, prompt: number): number {
  const { rollout } = config;
  if (!rollout.keepSupport || !truncates(rollout) || model.diffusion) return 0;
  const tokens = rollout.prompts * rollout.group * newTokensAfter(prompt, config, model);
  return tokens * supportBytes(model, rollout.topK);
}

const newTokensAfter = (prompt: number, { rollout }: Config, { maxPositions }: DecoderConfig) =>
  Math.max(1, Math.min(rollout.maxNewTokens, maxPositions - prompt));

const isAdjusted = ({
  topK,
  topP,
  minP,
  repetitionPenalty,
  presencePenalty,
  frequencyPenalty,
}: Config['rollout']) =>
  topK > 0 ||
  topP < 1 ||
  minP > 0 ||
  repetitionPenalty !== 1 ||
  presencePenalty !== 0 ||
  frequencyPenalty !== 0;

/** Adapters of a run: how many numbers, and of which layers. */
function loraOf({ lora }: Config, model: DecoderConfig) {
  const { rank, targets } = lora.adapter === undefined ? lora : adapterShape(lora.adapter);
  const layers = adaptedLayers(model, targets);
  return { targets, count: layers.reduce((sum, [out, input]) => sum + rank * (out + input), 0) };
}

/** With adapters the reference shares the weights, and has at most adapters of its own; a teacher shares nothing. */
function referenceOf(
  { kl, lora, teacher }: Config,
  model: DecoderConfig,
  adapters: number | undefined,
): Reference {
  if (teacher.model !== undefined)
    return { weights: weightCount(readShape(teacher.model)), adapters: 0, moves: false };
  const moves = kl.referenceEvery > 0;
  if (adapters === undefined) return { weights: weightCount(model), adapters: 0, moves };
  return { weights: 0, adapters: moves || lora.adapter !== undefined ? adapters : 0, moves };
}

/** So many texts with the most characters are looked at: tokens mostly follow them. */
const LONGEST = 24;

function longestOf(
  command: ConfigCommand,
  shape: Shape,
  { train, eval: held }: Pick<Task, 'train' | 'eval'>,
  kindKey: string | undefined,
): Longest {
  const { tokenizer, template } = shape;
  const { maxPositions } = shape.config;
  // requireRowsFit refuses a longer row later, with its file and line.
  const prompts = (problems: readonly Problem[]) =>
    largest(problems, ({ prompt }) => JSON.stringify(prompt).length).map(({ prompt }) =>
      Math.min(maxPositions, renderPrompt(tokenizer, template, prompt).ids.length),
    );
  const demonstrated = largest(
    command === 'sft' ? train.filter(({ demonstration }) => demonstration !== undefined) : [],
    ({ prompt, demonstration }) => JSON.stringify(prompt).length + demonstration!.length,
  ).map(({ prompt, demonstration }): Lengths => {
    const { spans, ids } = renderExample(tokenizer, template, prompt, demonstration!, { endId: 0 });
    const { start } = spans.find(({ kind }) => kind === 'completion')!;
    const fitting = Math.min(maxPositions, start);
    return { prompt: fitting, completion: Math.min(maxPositions, ids.length) - fitting };
  });
  return {
    train: Math.max(1, ...prompts(train)),
    eval: Math.max(1, ...prompts(held)),
    problems: held.length,
    demonstration: demonstrated.sort((a, b) => b.prompt + b.completion - a.prompt - a.completion)[0],
    kinds: Math.max(1, new Set(kindsOf(train, kindKey)).size),
  };
}

function largest<T>(items: readonly T[], sizeOf: (item: T) => number): T[] {
  const sized = items.map((item) => ({ item, size: sizeOf(item) }));
  return sized
    .sort((a, b) => b.size - a.size)
    .slice(0, LONGEST)
    .map(({ item }) => item);
}
