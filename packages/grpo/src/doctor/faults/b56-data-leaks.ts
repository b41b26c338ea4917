import type { Fault } from '../fault.js';

export const b56: Fault = {
  code: 'B56',
  name: 'data leaks',
  title: 'Data leak, repeat, or are not what was configured',
  left: 'pre-flight',
  checks: [],
};
