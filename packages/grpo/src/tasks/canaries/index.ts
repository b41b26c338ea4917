/** Canaries: completions whose worth is known, for checks of rewards. */
export { type GradedCanary, gradeCanaries, isMisjudged, isWrong } from './grade-canaries.js';
export { CANARY_ROWS, type Canary, type CanaryGroup, canaryGroups } from './make.js';
