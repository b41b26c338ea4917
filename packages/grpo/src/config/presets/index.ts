/** Published training settings, by name. Data only: the schema takes its names from here. */
import { argen } from './argen.js';
import { cs336, cs336OffPolicy } from './cs336.js';
import { grpoDual } from './grpo-dual.js';
import { coupledGrpo, diffuGrpo, seed003 } from './masked-diffusion.js';
import { dppo, icePop, kPop, maxRl, primeRl, verlK3 } from './off-policy.js';
import { cispo, dapo, drGrpo, gspo, r1, rloo } from './papers.js';
import type { Preset } from './preset.js';
import { quick } from './quick.js';
import { rookworldA, rookworldHead, rookworldManual } from './rookworld.js';
import { trl1, trl017 } from './trl.js';

export type { CitedValue, Preset, UnsupportedSetting } from './preset.js';

export const presets = {
  argen,
  'rookworld-manual': rookworldManual,
  'rookworld-head': rookworldHead,
  'rookworld-a': rookworldA,
  'grpo-dual': grpoDual,
  cs336,
  'cs336-offpolicy': cs336OffPolicy,
  'trl-0.17': trl017,
  'trl-1': trl1,
  r1,
  dapo,
  'dr-grpo': drGrpo,
  gspo,
  cispo,
  rloo,
  dppo,
  maxrl: maxRl,
  icepop: icePop,
  kpop: kPop,
  'verl-k3': verlK3,
  'prime-rl': primeRl,
  'diffu-grpo': diffuGrpo,
  'coupled-grpo': coupledGrpo,
  'seed-003': seed003,
  quick,
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof presets;

export const PRESET_NAMES = Object.keys(presets) as [PresetName, ...PresetName[]];

export const isPreset = (name: string): name is PresetName => Object.hasOwn(presets, name);
