import { objectiveRules } from './objective-rules.js';
import { rolloutRules } from './rollout-rules.js';
import type { Rule } from './rule.js';
import { taskRules } from './task-rules.js';
import { teacherRules } from './teacher-rules.js';
import { trainingRules } from './training-rules.js';
import { weightingRules } from './weighting-rules.js';

/** In this order: the first that is broken is told. */
export const rules: readonly Rule[] = [
  ...taskRules,
  ...rolloutRules,
  ...objectiveRules,
  ...teacherRules,
  ...weightingRules,
  ...trainingRules,
];
