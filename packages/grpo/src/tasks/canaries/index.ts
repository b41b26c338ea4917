/** Canaries: completions whose worth is known, for checks of rewards. */
export { type GradedCanary, gradeCanaries, isWrong, misjudged } from './grade.js';
export { type Canary, CANARY_ROWS, type CanaryGroup, canaryGroups } from './make.js';
