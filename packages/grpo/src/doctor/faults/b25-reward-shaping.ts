import type { Fault } from '../fault.js';

export const b25: Fault = {
  code: 'B25',
  name: 'reward shaping',
  title: 'Reward shaping has no effect, or works against its purpose',
  left: 'pre-flight',
  checks: [],
};
