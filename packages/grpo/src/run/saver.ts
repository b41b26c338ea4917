import { noGrad, type Tensor, tidy, unsafe } from '@grpo/torch';
import { type CheckpointFolder, saveCheckpoint } from './folder/checkpoint.js';
import { progressDigests, type StateDigests, storeDigests } from './folder/live-state.js';
import type { Progress } from './folder/progress.js';
import { readBack } from './folder/read-back.js';
import { storeLines } from './folder/replay-file.js';
import type { Run } from './open-run.js';

/** What a step changes before its first update, with its digests, and the version of the weights, after a whole step. */
interface WholeState {
  progress: Progress;
  digests: StateDigests;
  version: number;
}

/**
 * Saves a run after a whole step, never in the middle of one, and says when that is due. Until it is disposed, it also
 * saves where the process ends by itself.
 */
export class Saver implements Disposable {
  #whole: WholeState;
  #savedStep: number;
  #written: CheckpointFolder | undefined;
  #savedAt = performance.now();
  #steppedAt = performance.now();
  #stepTook = 0;
  readonly #onExit = () => this.saveAfterError();

  constructor(private readonly run: Run) {
    this.#whole = wholeState(run);
    this.#savedStep = run.progress.step;
    process.on('exit', this.#onExit);
  }

  [Symbol.dispose](): void {
    process.off('exit', this.#onExit);
  }

  /** Takes note of a whole step; its rows are written. */
  stepIsDone(): void {
    this.#whole = wholeState(this.run);
    this.#stepTook = performance.now() - this.#steppedAt;
    this.#steppedAt = performance.now();
  }

  /**
   * Tells which setting asks for a checkpoint after a step that is to begin: `checkpoint.every`, or `checkpoint.minutes` if
   * the step takes as long as the one before it.
   *
   * @param step - counted from 1
   */
  dueAfter(step: number): 'steps' | 'clock' | undefined {
    const { every, minutes } = this.run.config.checkpoint;
    if (every > 0 && step % every === 0) return 'steps';
    const passed = (performance.now() + this.#stepTook - this.#savedAt) / 60_000;
    return minutes > 0 && passed >= minutes ? 'clock' : undefined;
  }

  /** Saves the last whole step, if it is not saved yet. */
  save(): void {
    if (this.#whole.progress.step > this.#savedStep) this.#write(false);
  }

  /** Reads the last checkpoint back, if this run has written it and nothing has changed since. */
  readBack(): void {
    const { model, optimizer, trainerState, watch } = this.run;
    if (!this.#written || this.#written.step !== this.#whole.progress.step) return;
    readBack(this.#written.dir, { model, optimizer, reference: trainerState.reference }, watch.finishing());
  }

  /** Saves the last whole step as one after an error, and tells how that went; the error is the caller's to report. */
  saveAfterError(): void {
    const { step } = this.#whole.progress;
    const { watcher } = this.run;
    if (step === this.#savedStep) return;
    try {
      const problem = this.#problem();
      if (problem === undefined)
        watcher.note?.(`Saved the state after step ${step}: ${this.#write(true).dir}`);
      else watcher.note?.(`The state after step ${step} was not saved: ${problem}.`);
    } catch (error) {
      watcher.note?.(`The state after step ${step} could not be saved: ${(error as Error).message}`);
    }
  }

  /** Why the weights are not those of a whole step that one could go on from. */
  #problem(): string | undefined {
    const { optimizer, model } = this.run;
    if (weightsVersion(this.run) !== this.#whole.version)
      return 'the next step had changed the weights already';
    const tensors = [...model.decoder.trainable.values(), ...optimizer.state().values()];
    return tensors.every(hasFiniteValues) ? undefined : 'weights or optimizer are not finite';
  }

  #write(afterError: boolean): CheckpointFolder {
    const { folder, model, optimizer, trainerState, task, config, watcher, watch } = this.run;
    const { progress, digests } = this.#whole;
    const { reference } = trainerState;
    const replay = trainerState.replay && storeLines(trainerState.replay.groups, task.train);
    const { step } = progress;
    folder.flush();
    // After an error only what is needed is done.
    const completions = afterError ? undefined : trainerState.carried?.();
    const state = { ...progress, digests: { ...digests, ...storeDigests(this.run) }, completions };
    const content = { step, model, optimizer, reference, replay, state, afterError };
    const checkpoint = saveCheckpoint(folder.checkpoints, content, config.checkpoint.keep, watch.finishing());
    this.#savedStep = step;
    this.#written = checkpoint;
    this.#savedAt = performance.now();
    watcher.saved?.(checkpoint);
    return checkpoint;
  }
}

const wholeState = (run: Run): WholeState => ({
  progress: structuredClone(run.progress),
  digests: progressDigests(run),
  version: weightsVersion(run),
});

/**
 * A number that grows with every update: libtorch counts how often a tensor was written. The fused optimizer's writes of
 * the weights are not counted, those of its own step count are.
 */
function weightsVersion({ model, optimizer }: Run): number {
  const tensors = [...model.decoder.trainable.values(), ...optimizer.state().values()];
  const versions = tensors.map((tensor) => unsafe.call('aten::_version', tensor) as number);
  return versions.reduce((sum, version) => sum + version, 0);
}

const hasFiniteValues = (tensor: Tensor): boolean =>
  noGrad(() => tidy(() => tensor.isfinite().all().item() !== 0));
