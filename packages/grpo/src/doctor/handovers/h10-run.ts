import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { handOverCheck } from '../hand-over.js';
import { type Evidence, inform, pass } from '../outcome.js';
import { say } from '../sentence.js';

const audited = handOverCheck({
  code: 'H10',
  handOver: 'run',
  title: 'Each step continues the run',
  wrong: 'The steps of the run do not follow each other',
  stage: 'data',
  level: 1,
  remedy: 'Look at the order of the data, at what a resume repeats, and at who else writes into the folder.',
  proofs: ['native'],
});

/** A run of which half was never held to anything must not look like one of which all was. */
const lacking = stepCheck({
  code: 'H10.lacks',
  title: 'All of an audited step is computed a second time',
  stage: 'data',
  level: 1,
  rank: 101,
  aside: true,
  threshold: 'the audit of the step lacks nothing between the prompt and the update',
  why: 'What is not computed again, no check of the audit judges.',
  remedy: 'Audit a smaller run of the same settings, where that has what lacks here.',
  settles: 'The same hand-over in the audit of such a run.',
  consequence: { rerun: 'nothing', checkpointsVoid: false },
  needs: ['audit'],
  test({ audit: { missing } }) {
    // Of another trainer's checkpoints and order there is never anything.
    const lacks = missing.filter(({ handOver }) => handOver !== 'checkpoint' && handOver !== 'run');
    const [first] = lacks;
    if (!first) return pass();
    const of = lacks.filter(({ what }) => what === first.what).map(({ handOver }) => handOver);
    const evidence = lacks.map(({ handOver, what }): Evidence => ({ text: `${handOver}: ${what}` }));
    return inform({ handOvers: of.join(', '), what: first.what }, evidence);
  },
  says: ({ handOvers, what }) => say`Not computed a second time: ${handOvers}. The audit lacks ${what}.`,
});

export const h10: Fault = { ...audited, checks: [...audited.checks, lacking] };
