import type { Fault } from '../fault.js';

export const b56: Fault = {
  code: 'B56',
  name: 'data leaks',
  title: 'Data leaks, repeats, or is not what was configured',
  left: 'pre-flight',
  checks: [],
};
