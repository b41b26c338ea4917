import type { Model } from '../models/index.js';
import { Watch } from '../progress/watch.js';
import { type Completion, plainSampling, sample } from '../rollout/index.js';
import type { InspectionCheck } from './check.js';
import type { TemplateRow } from './template-rows.js';

/** How completions of a prompt turn out at a temperature and a limit. */
export interface Generation {
  prompt: string;
  temperature: number;
  maxNewTokens: number;
  completions: number;
  /** How many ended by themselves. */
  ended: number;
  /** Tokens of the shortest and of the longest. */
  lengths: readonly [number, number];
  distinct: number;
  blank: number;
  /** The text of the first. */
  text: string;
}

const TEMPERATURES = [0, 0.7, 1];
const LIMITS = [50, 100];
const COUNT = 4;

/** Denoising steps of a masked-diffusion model: each computes all sequences whole. */
const DENOISING_STEPS = 10;

/**
 * Completes each prompt at several temperatures. Every completion has draws of its own, so that the smaller limits of a
 * causal model only cut the same completions; a masked-diffusion model fills a whole region, and is tried at the smallest.
 */
export async function tryGeneration(
  model: Model,
  rows: readonly Pick<TemplateRow, 'name' | 'ids'>[],
  { seed = 0, watch = new Watch() }: { seed?: number; watch?: Watch } = {},
): Promise<Generation[]> {
  const limits = model.decoder.config.diffusion ? LIMITS.slice(0, 1) : LIMITS;
  const found: Generation[] = [];
  for (const temperature of TEMPERATURES) {
    const count = temperature === 0 ? 1 : COUNT;
    const requests = rows.map(({ ids }, p) => ({ ids, count, keys: [p] }));
    const options = {
      ...plainSampling,
      temperature,
      maxNewTokens: Math.max(...limits),
      diffusion: { ...plainSampling.diffusion, steps: DENOISING_STEPS },
    };
    const groups = await sample(model, requests, options, seed, watch.named('generation'));
    for (const [p, group] of groups.entries())
      for (const limit of limits)
        found.push({ prompt: rows[p]!.name, temperature, ...within(model, group, limit) });
  }
  return rows.flatMap(({ name }) => found.filter(({ prompt }) => prompt === name));
}

/** What a group is within a limit. */
function within(model: Model, group: readonly Completion[], maxNewTokens: number) {
  const cut = group.map(({ ids, finishReason }) => ({
    ids: ids.slice(0, maxNewTokens),
    ended: finishReason === 'stop' && ids.length <= maxNewTokens,
  }));
  const lengths = cut.map(({ ids }) => ids.length);
  const texts = cut.map(({ ids }) => model.tokenizer.decodeCompletion(ids, model));
  return {
    maxNewTokens,
    completions: group.length,
    ended: cut.filter(({ ended }) => ended).length,
    lengths: [Math.min(...lengths), Math.max(...lengths)] as const,
    distinct: new Set(cut.map(({ ids }) => ids.join())).size,
    blank: texts.filter((text) => text.trim() === '').length,
    text: texts[0]!,
  };
}

export function generationCheck(generations: readonly Generation[]): InspectionCheck {
  const name = 'generation';
  const log = generations.map(
    (one) =>
      `${one.prompt}, temperature ${one.temperature}, at most ${one.maxNewTokens}: ${one.ended} of ${one.completions} ended, ${one.lengths.join('–')} tokens, ${one.distinct} differ, ${one.blank} blank: ${JSON.stringify(one.text)}`,
  );
  const sum = (of: (one: Generation) => number) => generations.reduce((total, one) => total + of(one), 0);
  const all = sum(({ completions }) => completions);
  const [blank, ended] = [sum((one) => one.blank), sum((one) => one.ended)];
  if (blank > all / 2)
    return {
      name,
      verdict: 'warn',
      says: `${blank} of ${all} completions are blank.`,
      remedy: 'Look at the end of the rendered prompt: the log has it, and the first tokens.',
      log,
    };
  const flat = generations.filter(({ completions, distinct }) => completions > 1 && distinct === 1);
  if (flat.length > 0)
    return {
      name,
      verdict: 'inform',
      says: `All completions are the same at temperature ${flat.map(({ temperature }) => temperature).join(', ')}: groups of them have no signal.`,
      log,
    };
  return ended === 0
    ? {
        name,
        verdict: 'inform',
        says: `None of ${all} completions ended by itself within ${Math.max(0, ...generations.map(({ maxNewTokens }) => maxNewTokens))} tokens.`,
        log,
      }
    : { name, verdict: 'pass', says: `${ended} of ${all} completions ended by themselves.`, log };
}
