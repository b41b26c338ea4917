/**
 * What a run resumes from: `step-N/` is a Hugging Face model folder, or that of an adapter, plus `trainer/`, the optimizer's tensors and the
 * trainer's state, and a reference that moves. A folder of that name is always whole: it is made, and deleted, under a temporary name.
 */
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type AdamW, byteParts, dtypeSize, fromBytes, noGrad, type Tensor, tidy } from '@grpo/torch';
import { z } from 'zod';
import { FileError, onFile, requireFree } from '../../errors/file-error.js';
import { UserError } from '../../errors/user-error.js';
import {
  discard,
  sweepTemporary,
  syncFolder,
  temporaryPath,
  writeFileAtomic,
} from '../../formats/atomic-file.js';
import { readJsonObject } from '../../formats/json.js';
import { makeFolder } from '../../formats/make-folder.js';
import { SafetensorsFile, type TensorEntry, writeSafetensors } from '../../formats/safetensors.js';
import { type Model, saveModel } from '../../models/index.js';
import { Watch } from '../../progress/watch.js';
import { readModelBack } from './read-model-back.js';

/** Files of a checkpoint's tensors, beside the model. */
export const OPTIMIZER = join('trainer', 'optimizer.safetensors');
export const REFERENCE = join('trainer', 'reference.safetensors');
const REPLAY = join('trainer', 'replay.jsonl');
const STATE = join('trainer', 'state.json');

/** A checkpoint on disk. */
export interface CheckpointFolder {
  dir: string;
  /** Optimizer steps taken when it was made. */
  step: number;
  /** It was saved because of an error, which its own state may have brought about. */
  afterError: boolean;
}

/** The folder of a checkpoint; `step-7-error` was saved because step 8 failed. */
const NAME = /^step-(\d+)(-error)?$/;

/**
 * Writes `root/step-N/`, replacing one of the same name, and then deletes all but the newest `keep`; the one just
 * written stays in any case. What a killed run left half-written is removed first.
 *
 * One that is saved after an error is `root/step-N-error/`. It takes the place of the last such one only; the next one
 * without an error takes its place.
 *
 * @param content.reference - float32 weights of a reference that has moved, by name
 * @param content.replay - lines of the groups that may be replayed
 * @param content.state - what `readTrainerState` shall give back: anything that JSON can hold
 * @throws FileError when the system refuses, TypeError for a state that JSON cannot hold, UserError for a model folder
 * that does not say what the model in memory is; older checkpoints are untouched then
 */
export function saveCheckpoint(
  root: string,
  content: {
    step: number;
    model: Model;
    optimizer: AdamW;
    reference?: ReadonlyMap<string, Tensor> | undefined;
    replay?: string | undefined;
    state: object;
    afterError?: boolean;
  },
  keep: number,
  watch?: Watch,
): CheckpointFolder {
  const { step, model, optimizer, reference, replay, state, afterError = false } = content;
  const json = `${JSON.stringify(state, jsonNumber, 2)}\n`;
  makeFolder(root);
  sweepTemporary(root);
  const dir = join(root, `step-${step}${afterError ? '-error' : ''}`);
  const bytes = checkpointBytes(model, optimizer, reference);
  requireFree(dir, bytes);
  const temporary = temporaryPath(root);
  try {
    makeFolder(join(temporary, 'trainer'));
    writeSafetensors(join(temporary, OPTIMIZER), entries(optimizer.state()), {}, { watch, sums: true });
    if (reference)
      writeSafetensors(join(temporary, REFERENCE), entries(reference), {}, { watch, sums: true });
    if (replay !== undefined) writeFileAtomic(join(temporary, REPLAY), replay);
    writeFileAtomic(join(temporary, STATE), json);
    // Last, since it flushes `temporary` itself, with `trainer` in it, to the disk.
    saveModel(model, temporary, watch);
    readModelBack(temporary, model, dir);
    if (existsSync(dir)) setAside(root, dir);
    onFile('write', dir, () => renameSync(temporary, dir));
    // The rename is on the disk before an older checkpoint goes.
    syncFolder(root);
  } catch (error) {
    discard(temporary);
    throw error instanceof FileError ? error.at(dir, bytes) : error;
  }
  const saved = { dir, step, afterError };
  dropSurplus(root, saved, keep);
  return saved;
}

/**
 * Deletes what saving `newest` leaves behind, which a killed run may not have come to: all but the newest `keep`, itself
 * included, and others that were saved after an error. Where it was itself, no other goes for it.
 */
export function dropSurplus(root: string, newest: CheckpointFolder, keep: number): void {
  const others = checkpointsIn(root).filter(({ dir }) => dir !== newest.dir);
  const surplus = newest.afterError ? [] : others.filter((other) => !other.afterError).slice(keep - 1);
  for (const old of [...others.filter((other) => other.afterError), ...surplus]) setAside(root, old.dir);
  sweepTemporary(root);
}

/** The newest checkpoint in `root`, or undefined when there is none. */
export function latestCheckpoint(root: string): CheckpointFolder | undefined {
  return checkpointsIn(root)[0];
}

/**
 * Copies the checkpoint's tensors into the optimizer, which must be one of the same parameters.
 *
 * @throws UserError when a tensor is missing, one too many, or of another shape; FormatError or FileError for the file
 */
export function restoreOptimizer(dir: string, optimizer: AdamW, watch?: Watch): void {
  restore(join(dir, OPTIMIZER), optimizer.state(), 'the optimizer', watch);
}

/**
 * Copies the checkpoint's weights into those of a reference.
 *
 * @throws as `restoreOptimizer` does
 */
export function restoreReference(dir: string, reference: ReadonlyMap<string, Tensor>, watch?: Watch): void {
  restore(join(dir, REFERENCE), reference, 'the reference', watch);
}

function restore(
  path: string,
  tensors: ReadonlyMap<string, Tensor>,
  owner: string,
  watch = new Watch(),
): void {
  using file = SafetensorsFile.open(path);
  const wrong = (problem: string) =>
    new UserError(`${file.path}: ${problem}`, {
      hint: "The checkpoint is of another model or dtype. Resume with the settings in the run's config.json.",
    });
  const surplus = [...file.tensors.keys()].find((name) => !tensors.has(name));
  if (surplus !== undefined) throw wrong(`holds '${surplus}', which ${owner} does not have`);
  // All are looked at before any is changed.
  for (const [name, { shape }] of tensors) {
    const info = file.tensors.get(name);
    if (!info) throw wrong(`no tensor '${name}', which ${owner} has`);
    if (info.dtype !== 'F32' || info.shape.join() !== shape.join()) {
      throw wrong(
        `'${name}' is ${info.dtype} [${info.shape.join(', ')}], ${owner}'s is F32 [${shape.join(', ')}]`,
      );
    }
  }
  for (const [done, [name, tensor]] of [...tensors].entries()) {
    watch.report({ stage: `reading ${basename(path)}`, done, total: tensors.size, unit: 'tensors' });
    copyInto(tensor, file.parts(name));
  }
}

/**
 * The state that `saveCheckpoint` was given.
 *
 * @throws UserError when it does not have the shape of `schema`; FormatError or FileError for the file
 */
export function readTrainerState<T>(dir: string, schema: z.ZodType<T>): T {
  const path = join(dir, STATE);
  const state = schema.safeParse(readJsonObject(path, "the trainer's state"));
  if (state.success) return state.data;
  throw new UserError(`${path} is not the state of a trainer.\n${z.prettifyError(state.error)}`, {
    hint: 'It was changed by hand, or written by another version.',
  });
}

/** Path of the groups that a checkpoint may have stored. */
export const replayPath = (dir: string): string => join(dir, REPLAY);

/** The checkpoints in `root`, newest first. */
export function checkpointsIn(root: string): CheckpointFolder[] {
  if (!existsSync(root)) return [];
  return onFile('read', root, () => readdirSync(root))
    .flatMap((name) => {
      const [, step, error] = NAME.exec(name) ?? [];
      if (step === undefined) return [];
      return [{ dir: join(root, name), step: Number(step), afterError: error !== undefined }];
    })
    .sort((a, b) => b.step - a.step || Number(a.afterError) - Number(b.afterError));
}

/** Takes a checkpoint's name away, for `sweepTemporary` to delete: interrupted deleting leaves nothing that looks like one. */
function setAside(root: string, dir: string): void {
  onFile('write', dir, () => renameSync(dir, temporaryPath(root)));
}

/** Bytes that a checkpoint takes on the disk, but for a few small files. */
export function checkpointBytes(
  model: Model,
  optimizer: AdamW,
  reference: ReadonlyMap<string, Tensor> | undefined,
): number {
  const { trainable } = model.decoder;
  const files = [...model.files.values()].map((bytes) => bytes.length);
  const weights = [...trainable.values()].map(({ numel, dtype }) => numel * dtypeSize(dtype));
  const floats = [...optimizer.state().values(), ...(reference?.values() ?? [])].map(
    ({ numel }) => 4 * numel,
  );
  return [...files, ...weights, ...floats].reduce((sum, size) => sum + size, 0);
}

/** What is kept is float32: the optimizer's state, and the reference's weights. */
function* entries(tensors: ReadonlyMap<string, Tensor>): Iterable<TensorEntry> {
  for (const [name, tensor] of tensors) {
    yield { name, dtype: 'F32', shape: tensor.shape, data: () => byteParts(tensor) };
  }
}

/** Float32 numbers in parts. */
function copyInto(tensor: Tensor, parts: Iterable<Uint8Array>): void {
  let at = 0;
  for (const part of parts) {
    const count = part.length / dtypeSize('float32');
    noGrad(() =>
      tidy(() => {
        tensor
          .view([-1])
          .narrow(0, at, count)
          .copy_(fromBytes(part, [count], 'float32'));
      }),
    );
    at += count;
  }
}

/** JSON.stringify would write null for these without a word. */
function jsonNumber(key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new TypeError(`the trainer's state has ${key} = ${value}, which JSON cannot hold`);
  }
  return value;
}
