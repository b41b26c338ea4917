import type { AdamW } from '@grpo/torch';
import type { Config } from '../config/schema.js';
import { UserError } from '../errors/user-error.js';
import { type Decoder, type LoadedModel, loadAdapter, type Model } from '../models/index.js';
import type { Watch } from '../progress/watch.js';
import type { SamplingOptions } from '../rollout/index.js';
import { Control } from '../step/control.js';
import { kindsOf } from '../step/kinds.js';
import { MovingReference } from '../step/moving-reference.js';
import type { StepObserver } from '../step/observer.js';
import { ReplayStore } from '../step/replay-store.js';
import { checkedStages, type Stages, stages as standardStages } from '../step/stages.js';
import type { CarriedCompletion, Trainer, WeightChecksums } from '../step/trainer.js';
import { Supply } from '../tasks/order/supply.js';
import type { Problem, Task } from '../tasks/task.js';
import { latestCheckpoint, replayPath, restoreReference } from './folder/checkpoint.js';
import { requireProblemsTaken } from './folder/problems-taken.js';
import { parseStore, readStore } from './folder/replay-file.js';
import { openModel, openTeacher } from './model-source.js';
import type { Run } from './open-run.js';
import { checkedLoss } from './own-loss.js';
import type { RunPeers } from './ranks/run-peers.js';
import type { Workplace } from './workplace.js';

/**
 * What the GRPO steps of a run work with. On resuming it goes on as the run's last checkpoint has it, and what of it
 * changes while training is part of the run's next checkpoints. To be disposed before the run is.
 */
export class GrpoTrainer implements Trainer, Disposable {
  readonly model: Model;
  readonly task: Task;
  readonly optimizer: AdamW;
  readonly config: Config;
  readonly activationRoom: number;
  readonly auditLack: string | undefined;
  readonly sampling: SamplingOptions;
  readonly servers: Trainer['servers'];
  readonly watch: Watch;
  readonly peers: RunPeers | undefined;
  readonly control: Control;
  readonly reference: Decoder | undefined;
  readonly teacher: Trainer['teacher'];
  readonly teacherServer: Trainer['teacherServer'];
  readonly movingReference: MovingReference | undefined;
  checksums: WeightChecksums | undefined;
  restored: { completions: readonly CarriedCompletion[] } | undefined;
  /** The problems of the run, in the order of its seed. */
  readonly supply: Supply;
  readonly begun: { steps: number; problems: number };
  readonly stages: Stages;
  readonly ownStages: readonly string[];
  /** Watch each step; without them it does the same. */
  observers: readonly StepObserver[] = [];
  readonly #owned: { dispose(): void } | undefined;

  private constructor(
    run: Workplace,
    own: Partial<Stages>,
    readonly replay: ReplayStore | undefined,
  ) {
    const { config, progress, task } = run;
    this.model = run.model;
    this.task = task;
    this.optimizer = run.optimizer;
    this.config = config;
    this.activationRoom = run.activationRoom;
    this.auditLack = run.auditLack;
    this.sampling = run.sampling;
    this.servers = run.servers;
    this.watch = run.watch;
    this.peers = run.peers;
    this.stages = { ...standardStages, sample: run.sample, ...checkedStages(own) };
    this.ownStages = Object.keys(own);
    // A run of an earlier version took the same number at each step.
    progress.problems ??= progress.step * config.rollout.prompts;
    this.begun = { steps: progress.step, problems: progress.problems };
    this.supply = new Supply(task.train, config.seed, progress, task.shares);
    this.control = new Control(config, progress.control);
    progress.control = this.control.state;
    this.checksums = progress.checksums;
    if (progress.step > 0) this.restored = { completions: progress.completions ?? [] };
    const reference = config.kl.beta > 0 ? openReference(run) : undefined;
    this.reference = reference?.decoder;
    this.teacher = reference?.teacher;
    this.#owned = reference?.owned;
    this.teacherServer = run.teacherServer;
    if (this.reference && config.kl.referenceEvery > 0)
      this.movingReference = new MovingReference(this.reference, this);
  }

  /**
   * Opens what a run's steps work with.
   *
   * @param own - your own stages in place of the standard ones
   * @throws UserError when one of them is the loss, and `objective.module` is another; or for a row without a kind
   */
  static async open(run: Run, own: Partial<Stages> = {}): Promise<GrpoTrainer> {
    const { config, task, folder, watch } = run;
    const stages = withLoss(run, own);
    kindsOf(task.train, config.kl.kindKey); // a row without a kind is refused now, not when its turn comes
    await requireProblemsTaken(run);
    const checkpoint = latestCheckpoint(folder.checkpoints);
    const { replay: size } = config.groups;
    const stored = size > 0 && checkpoint ? await readStore(replayPath(checkpoint.dir), task.train) : [];
    const trainer = new GrpoTrainer(run, stages, size > 0 ? new ReplayStore(size, stored) : undefined);
    const { movingReference, replay } = trainer;
    try {
      if (checkpoint)
        movingReference?.restore((masters) => restoreReference(checkpoint.dir, masters, watch.finishing()));
    } catch (error) {
      trainer[Symbol.dispose]();
      throw error;
    }
    folder.replaceStages(trainer.ownStages);
    run.trainerState = {
      live: trainer,
      ...(movingReference && { reference: movingReference.masters }),
      ...(replay && { replay }),
    };
    return trainer;
  }

  /**
   * Opens what a process works with that follows rank 0. Weights, optimizer and reference are not yet those of the run.
   *
   * @param replay - lines of the stored groups
   */
  static follow(work: Workplace, own: Partial<Stages> = {}, replay = ''): GrpoTrainer {
    const { config, task } = work;
    const { replay: size } = config.groups;
    const store = size > 0 ? new ReplayStore(size, parseStore(replay, task.train)) : undefined;
    return new GrpoTrainer(work, withLoss(work, own), store);
  }

  /** Takes the problems of the next step. */
  nextProblems(): Problem[] {
    const { rollout, train } = this.config;
    return train.repeatBatch ? this.supply.first(rollout.prompts) : this.supply.take(rollout.prompts);
  }

  [Symbol.dispose](): void {
    this.movingReference?.[Symbol.dispose]();
    this.#owned?.dispose();
  }
}

/** The stages in place of ours, with the loss of `objective.module`; a loss of one's own is held to what a loss is. */
function withLoss(
  { loss, config }: Pick<Workplace, 'loss' | 'config'>,
  own: Partial<Stages>,
): Partial<Stages> {
  if (!loss) {
    const { objective } = own;
    return typeof objective === 'function'
      ? { ...own, objective: checkedLoss('stages.objective', objective) }
      : own;
  }
  if (!own.objective) return { ...own, objective: loss };
  throw new UserError(
    `objective.module (${config.objective.module}) and stages.objective are both the loss`,
    {
      hint: 'Take one of them out.',
    },
  );
}

/** A frozen policy. */
interface Reference {
  decoder: Decoder;
  /** What of it is to be disposed. */
  owned: { dispose(): void } | undefined;
  /** The model that it is of, where that is not the one that is trained. */
  teacher?: LoadedModel;
}

/**
 * The frozen policy that the KL is measured to: the teacher, or the model as it was before the first step. With adapters
 * that one shares the weights, and has at most adapters of its own.
 *
 * @returns undefined where a server scores in its place
 */
export function openReference({
  config,
  model,
  progress,
  watch,
}: Pick<Workplace, 'config' | 'model' | 'progress' | 'watch'>): Reference | undefined {
  if (config.teacher.engine !== 'own') return undefined;
  if (config.teacher.model !== undefined) {
    const teacher = openTeacher(config, model, watch.finishing());
    return { decoder: teacher.decoder, owned: teacher.decoder, teacher };
  }
  const { lora } = model.decoder;
  const { adapter } = config.lora;
  if (lora) {
    if (config.kl.referenceEvery > 0) {
      // On resuming, what has moved is restored from the checkpoint.
      const moving = lora.clone();
      return { decoder: model.decoder.withLora(moving), owned: moving };
    }
    const { base } = lora.settings;
    const first = adapter === undefined ? undefined : loadAdapter(adapter, model.decoder, base);
    return { decoder: model.decoder.withLora(first), owned: first };
  }
  const whole =
    progress.step === 0 ? model.decoder.clone() : openModel(config, { watch: watch.finishing() }).decoder;
  return { decoder: whole, owned: whole };
}
