/** The command line of CS336's GRPO script, which `grpo train` takes with the presets of the assignment. */
import { assignmentFlags } from './flags.js';

export const info = {
  presets: ['cs336', 'cs336-offpolicy'],
  flags: assignmentFlags,
  load: () => import('./dialect.js'),
} as const;
