/** What a run will take at its peak, and why: plain sums over what is held and what each phase adds. */
import type { DecoderConfig } from '../models/config.js';
import { type AuditSize, auditBytes, stateBytes } from './audit-bytes.js';
import { cacheBytes, type Engine, logitsBytes, passTokenBytes } from './decoding.js';
import { denoisingBytes } from './denoising.js';
import {
  checkpointBytes,
  type Holdings,
  holdingsOf,
  layoutBytes,
  type Reference,
  type TrainedPart,
} from './holdings.js';
import { activationRoom, type Backward, type Pass, passBytes, tokensWithin } from './pass-bytes.js';
import { lotBytes } from './room.js';

/** Completions that are sampled: of each prompt so many. */
export interface Sampling {
  prompts: number;
  group: number;
  /** Longest prompt and longest completion, in tokens. */
  longest: number;
  newTokens: number;
  /** Penalties or truncation apply. */
  adjusted: boolean;
}

/** Groups that are trained on, in passes of about so many tokens. */
export interface Training {
  prompts: number;
  group: number;
  /** Most tokens that the passes over a group compute: once for all of its completions, and for each. */
  shared: number;
  own: number;
  /** Most tokens of a completion that are scored. */
  scored: number;
  microBatchTokens: number;
  backward: Backward;
  /** Kinds of problems whose gradients are held apart: 1 where they are not compared. */
  kinds: number;
}

/** A run, as far as its memory goes. */
export interface Work {
  model: DecoderConfig;
  engine: Engine;
  /** Whether oneDNN computes the products, which compiles them for each of their shapes. */
  compiles: boolean;
  trained: TrainedPart;
  reference?: Reference | undefined;
  /** Bytes of the weights of reward models. */
  rewardModels: number;
  rollout?: Sampling | undefined;
  /** Bytes of the ids that sampling kept for the tokens of a step, where they are kept. */
  support?: number;
  evaluation?: Sampling | undefined;
  training?: Training | undefined;
  /** Completions of a step, or of an evaluation by itself, that are computed again, where it is audited. */
  audit?: AuditSize | undefined;
}

/** A phase of the run, and what it takes: all parts are there at the same time. */
export interface Phase {
  name: 'rollout' | 'audit' | 'training' | 'evaluation';
  parts: readonly { name: string; bytes: number }[];
  bytes: number;
}

export interface Estimate {
  phases: readonly Phase[];
  /** Of the largest phase. */
  peak: number;
  /** Bytes of one checkpoint on the disk. */
  checkpoint: number;
  /** What the budget leaves beside the process, weights and optimizer; below 0 where they exceed it. */
  free: number;
  /** What lots of completions and micro-batches are held to. */
  lotBytes: number;
  microBatchTokens: number;
  /** Bytes that the activations of a pass may take. */
  activationRoom: number;
  /** The second computation of an audit, which is left out where it needs more than the budget leaves. */
  audit?: { needs: number; left: number } | undefined;
}

/** A process with libtorch loaded, and what the tokenizer takes for each token of its vocabulary. */
const [PROCESS, PER_TOKEN] = [260e6, 900];
/** Compiled products that oneDNN keeps. */
const COMPILED = 60e6;

/** @param budget - bytes that the run may take; what is computed at once is cut to it */
export function estimate(work: Work, budget: number): Estimate {
  const { model, engine, training } = work;
  const held = holdingsOf(model, engine.size, work.trained, work.reference);
  const process = PROCESS + (work.compiles ? COMPILED : 0) + PER_TOKEN * model.vocabSize + work.rewardModels;
  const free = budget - process - held.weights - held.adapters - held.optimizer - held.reference;
  const lot = lotBytes(model, engine, free);
  const most = training ? tokensWithin(model, engine, training.backward, free - held.gradients) : 0;
  // A group of up to twice as many tokens is not cut.
  const microBatchTokens = Math.max(1, Math.min(training?.microBatchTokens ?? 1, Math.floor(most / 2)));
  const holding = [
    { name: 'process', bytes: process },
    { name: 'weights', bytes: held.weights },
    { name: 'adapters', bytes: held.adapters },
    { name: 'optimizer', bytes: held.optimizer },
    { name: 'reference', bytes: held.reference },
  ];
  const phase = (name: Phase['name'], parts: Phase['parts']): Phase => {
    const all = [...holding, ...parts].filter(({ bytes }) => bytes > 0);
    return { name, parts: all, bytes: all.reduce((sum, { bytes }) => sum + bytes, 0) };
  };
  // From the rollout to the end of the step.
  const support = { name: 'kept ids', bytes: work.support ?? 0 };
  const sampled = (name: Phase['name'], sampling?: Sampling, more: Phase['parts'] = []) =>
    sampling
      ? [phase(name, [...(model.diffusion ? denoisingParts : decodingParts)(work, sampling, lot), ...more])]
      : [];
  const audit = work.audit && auditNeeds(work, work.audit, held, free, microBatchTokens);
  const audited = audit && audit.needs <= audit.left ? audit.needs : 0;
  const auditParts = [
    { name: 'gradients', bytes: held.gradients },
    { name: 'second computation', bytes: audited },
  ];
  const phases = [
    ...sampled('rollout', work.rollout, [support]),
    ...(audited > 0 ? [phase('audit', [...auditParts, support])] : []),
    ...(training
      ? [phase('training', [...trainingParts(work, training, held, microBatchTokens), support])]
      : []),
    ...sampled('evaluation', work.evaluation),
  ];
  return {
    phases,
    peak: Math.max(...phases.map(({ bytes }) => bytes)),
    checkpoint: work.trained ? checkpointBytes(model, engine.size, work.trained, work.reference) : 0,
    free,
    lotBytes: lot,
    microBatchTokens,
    activationRoom: training ? activationRoom(model, engine, training.backward, free - held.gradients) : 0,
    audit,
  };
}

/** What an audit needs beside the gradients: the plain pass, or the trainer's own of the same completions. */
function auditNeeds(
  { model, engine, training }: Work,
  size: AuditSize,
  { gradients }: Holdings,
  free: number,
  microBatchTokens: number,
): { needs: number; left: number } {
  const plain = auditBytes(model, engine, size, training?.backward);
  let own = 0;
  if (training) {
    const tokens = Math.min(size.tokens, largestPass({ ...training, microBatchTokens }).tokens);
    own = passBytes(model, engine, { tokens, scored: Math.min(size.scored.all, tokens) }, training.backward);
  }
  return { needs: stateBytes(model, size) + Math.max(plain, own), left: Math.max(0, free - gradients) };
}

function decodingParts(
  { model, engine }: Work,
  { prompts, group, longest, newTokens, adjusted }: Sampling,
  lot: number,
): Phase['parts'] {
  const one = { longest, newTokens, prompts: 1, rows: 1, mostPerPrompt: 1 };
  const all = { ...one, prompts, rows: prompts * group, mostPerPrompt: group };
  const bytesOf = (size: typeof all) =>
    cacheBytes(model, engine, size) + size.rows * logitsBytes(model, engine, adjusted);
  // A single completion is decoded whatever it takes.
  const cache = Math.max(bytesOf(one), Math.min(bytesOf(all), lot));
  const perToken = passTokenBytes(model, engine);
  const prefill = Math.max(longest * perToken, Math.min(prompts * longest * perToken, lot / 4));
  return [
    { name: 'weights laid out for decoding', bytes: layoutBytes(model, engine.size) },
    { name: 'prompts', bytes: prefill },
    { name: 'cache and logits', bytes: cache },
  ];
}

function denoisingParts(
  { model, engine }: Work,
  { prompts, group, longest, newTokens, adjusted }: Sampling,
  lot: number,
): Phase['parts'] {
  const completions = { count: prompts * group, sequence: longest + newTokens, newTokens, adjusted };
  const { sequences, logits } = denoisingBytes(model, engine, completions, lot);
  return [
    { name: 'sequences', bytes: sequences },
    { name: 'logits', bytes: logits },
  ];
}

function trainingParts(
  { model, engine }: Work,
  training: Training,
  { gradients }: Holdings,
  microBatchTokens: number,
): Phase['parts'] {
  const pass = largestPass({ ...training, microBatchTokens });
  const activations = passBytes(model, engine, pass, training.backward);
  // In an update's first pass activations go as gradients come.
  const isOnly = pass.scored >= training.prompts * training.group * training.scored;
  return [
    { name: 'gradients', bytes: isOnly ? Math.max(0, gradients - activations) : gradients },
    { name: 'gradients of kinds', bytes: (training.kinds - 1) * gradients },
    { name: 'activations', bytes: activations },
  ];
}

/** The largest micro-batch: of whole groups, of as much of one as fits, or of a single completion. */
function largestPass({ prompts, group, shared, own, scored, microBatchTokens }: Training): Pass {
  const whole = shared + group * own;
  if (whole <= 2 * microBatchTokens) {
    const groups = Math.max(1, Math.min(prompts, Math.round(microBatchTokens / whole)));
    return { tokens: groups * whole, scored: groups * group * scored };
  }
  const rows = own === 0 ? group : Math.max(1, Math.floor((microBatchTokens - shared) / own));
  return { tokens: shared + rows * own, scored: rows * scored };
}
