/** A run with the assignment's command line: its flags as a layer of the configuration, its notes, its saved models. */
import { type Config, type ResolvedConfig, UsageError } from '../../config/index.js';
import { argumentsLayer } from '../../config/layers/arguments-layer.js';
import { type Layer, mergedLayer } from '../../config/layers/layer.js';
import { sinkName } from '../../config/sections/sinks.js';
import { wholeNumber } from '../../errors/whole-number.js';
import { assignmentFlags } from './flags.js';
import { nameModels } from './saved-models.js';
import { readSizes } from './sizes.js';

/** Flags of a command line with their values. */
type Flags = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/** What the flags stand for, and what is to be said of it. */
export interface Translation {
  layer: Layer;
  notes: string[];
}

/**
 * Translates the flags that were given.
 *
 * @param resolve - the configuration with a layer of flags: sizes that are not given follow from it
 * @throws UsageError for sizes that do not divide, and for W&B beside other sinks
 */
export function translate(flags: Flags, resolve: (layer: Layer) => ResolvedConfig): Translation {
  const names = Object.keys(flags).filter((name) => Object.hasOwn(assignmentFlags, name));
  if (names.length === 0) return { layer: mergedLayer([]), notes: [] };
  // The assignment's rows are graded as the assignment grades them.
  const graded = flags['data-path'] === undefined ? [] : [setBy('data-path', 'task.grading', 'r1_zero')];
  const direct = mergedLayer([...names.map((name) => directLayer(name, flags[name])), ...graded]);
  const { config } = resolve(direct);
  const sizes = sizeLayers(flags, config);
  return { layer: mergedLayer([direct, sizes.layer, ...wandbLayers(flags, config)]), notes: sizes.notes };
}

/** Says where the assignment grades otherwise than this run. */
export function notesOn({ task }: Config): string[] {
  return task.name === 'jsonl' && task.grading === 'numeric'
    ? [
        'Answers are graded as numbers (task.grading=numeric). The assignment’s grader is task.grading=r1_zero.',
      ]
    : [];
}

/** Names the models of a checkpoint as the assignment's script does. */
export function saved(
  { dir, step }: { dir: string; step: number },
  { output, train, checkpoint }: Config,
): void {
  nameModels({ output, dir, step, steps: train.steps, every: checkpoint.every });
}

/** W&B as one of the sinks. */
function wandbLayers(flags: Flags, { sinks }: Config): Layer[] {
  const { 'wandb-project': project, 'wandb-run-name': name } = flags;
  if (project === undefined && name === undefined) return [];
  if (project === undefined)
    throw new UsageError('--wandb-run-name names a run of a project, and --wandb-project is not given.');
  if (sinks.some((sink) => sinkName(sink) !== 'wandb'))
    throw new UsageError('--wandb-project and sinks both say where the numbers go.', {
      hint: `Leave the flag out, and add {wandb: ${project}} to sinks.`,
    });
  return [setBy('wandb-project', 'sinks', JSON.stringify([{ wandb: project, name }]))];
}

/** The settings of one flag that stands for one setting. */
function directLayer(name: string, written: Flags[string]): Layer {
  const { key, fixed } = assignmentFlags[name] ?? {};
  return key === undefined || written === undefined || written === false
    ? mergedLayer([])
    : setBy(name, key, fixed ?? String(written));
}

/** `key=text`, read as on the command line, with the flag as its source. */
function setBy(flag: string, key: string, text: string): Layer {
  const { entries, problems } = argumentsLayer([`${key}=${text}`], 'train');
  return {
    entries: new Map([...entries].map(([path, entry]) => [path, { ...entry, source: `--${flag}` }])),
    problems,
  };
}

/** The script's own rollout_batch_size. */
const ROLLOUT_BATCH = 256;

function sizeLayers(flags: Flags, { rollout, objective }: Config): Translation {
  const given = (name: string) => wholeNumber(`--${name}`, flags[name], { least: 1 });
  /** A setting that follows from flags: from the first of them that is given, or not at all. */
  const follows = (names: readonly string[], key: string, value: number | string): Layer[] => {
    const name = names.find((flag) => flags[flag] !== undefined);
    return name === undefined ? [] : [setBy(name, key, String(value))];
  };
  const ownBatch = flags['group-size'] === undefined ? rollout.prompts * rollout.group : ROLLOUT_BATCH;
  const rolloutBatch = given('rollout-batch-size') ?? ownBatch;
  const accumulation = given('gradient-accumulation-steps');
  const { prompts, minibatches, iterations, microBatch, note } = readSizes({
    rolloutBatch,
    group: rollout.group,
    trainBatch: given('train-batch-size') ?? rolloutBatch / objective.minibatches,
    epochs: given('epochs-per-rollout-batch') ?? objective.iterations,
    accumulation,
  });
  const rolled = ['rollout-batch-size', 'group-size'];
  const several = ['epochs-per-rollout-batch', 'train-batch-size', ...rolled];
  const needsOld =
    minibatches * iterations > 1 && objective.policy !== 'reinforce' && objective.oldLogprobs === 'detach';
  const tokens = (microBatch ?? 0) * rollout.maxNewTokens;
  return {
    layer: mergedLayer([
      ...follows(rolled, 'rollout.prompts', prompts),
      ...follows(['train-batch-size', ...rolled], 'objective.minibatches', minibatches),
      ...follows(['epochs-per-rollout-batch'], 'objective.iterations', iterations),
      ...(needsOld ? follows(several, 'objective.oldLogprobs', 'recompute') : []),
      ...follows(['gradient-accumulation-steps'], 'train.microBatchTokens', tokens),
    ]),
    notes: [
      ...(note === undefined ? [] : [note]),
      ...(microBatch === undefined
        ? []
        : [
            `--gradient-accumulation-steps ${accumulation}: micro-batches are cut by tokens here, so ${microBatch} completions of up to ${rollout.maxNewTokens} tokens become train.microBatchTokens=${tokens}. The gradient is the same however it is cut.`,
          ]),
    ],
  };
}
