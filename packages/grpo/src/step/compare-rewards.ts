import type { Batch } from './batch.js';
import { klPenalties } from './kl-penalties.js';
import { advantageSettings } from './loss-settings.js';
import type { Trainer } from './trainer.js';

/** Compares the rewards of each group, the KL taken from them where it has its place there. */
export function compareRewards({ stages, config }: Trainer, batch: Batch): void {
  if (config.kl.place === 'reward') batch.klPenalties_B = klPenalties(config.kl, batch);
  batch.advantages = stages.advantage(batch.compared, batch.group, advantageSettings(config));
}
