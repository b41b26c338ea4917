import { handOverCheck } from '../hand-over.js';

export const h17 = handOverCheck({
  code: 'H17',
  handOver: 'choice',
  title: 'What is learnt from is what the settings choose',
  wrong: 'Other groups or completions are learnt from than the settings choose',
  stage: 'advantage',
  level: 4,
  remedy:
    'Look at what chooses: groups.refills and groups.replay (which groups give way, what the store draws, takes out and takes in), or the rule of expert iteration (expert.threshold, expert.perProblem, expert.unique).',
  induces: ['H04', 'H12'],
  proofs: ['native'],
});
