import { areal } from './areal.js';
import { openInstruct } from './open-instruct.js';
import { cs336, forge, grpoDual, tinker, unknown } from './others.js';
import { ours } from './ours.js';
import { primeRl } from './prime-rl.js';
import type { Producer } from './producer.js';
import { skyRl } from './sky-rl.js';
import { slime } from './slime.js';
import { swift, transformers, trl, trlPpo } from './trl.js';
import { verl } from './verl.js';

/** In the order in which they are asked: what has names of its own first. */
const producers: readonly Producer[] = [
  ours,
  verl,
  grpoDual,
  tinker,
  openInstruct,
  trlPpo,
  primeRl,
  forge,
  slime,
  areal,
  skyRl,
  cs336,
  swift,
  trl,
  transformers,
  unknown,
];

/** Who wrote a log with these names. */
export function producerOf(names: ReadonlySet<string>): Producer {
  return producers.find((producer) => producer.wrote(names))!;
}

export type { Producer } from './producer.js';
export { meaningOfVersion } from './trl.js';
