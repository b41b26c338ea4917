import { withoutNaN } from '../../maths/moments.js';
import { logCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { at } from '../log-view.js';
import { notApplicable, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

export const b57: Fault = {
  code: 'B57',
  name: 'resume',
  title: 'Resuming goes wrong',
  left: 'pre-flight',
  checks: [
    logCheck({
      code: 'B57.log',
      title: 'A resumed run continues where it stopped',
      stage: 'checkpoint',
      level: 8,
      rank: 4,
      threshold:
        'num_tokens never falls from entry to entry; not applicable where it falls in a tenth of the entries, as a count of each step does',
      sources: [
        'huggingface/trl#3148',
        'huggingface/trl#3247',
        'NVIDIA-NeMo/RL#3599',
        'OpenRLHF/OpenRLHF#1069',
      ],
      remedy:
        'Compare the prompts, learning rate and loss of the first resumed step with those of an uninterrupted run.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles:
        'Train N steps and resume for N more, and train 2 N steps in one go: prompts and losses must be equal.',
      needs: ['num_tokens'],
      test(log) {
        const tokens = log.column('num_tokens');
        const seams = [...tokens.keys()].filter((i) => i > 0 && tokens[i]! < tokens[i - 1]!);
        const measured = { entries: withoutNaN(tokens).length, seams: seams.length };
        if (seams.length > 3 && seams.length > measured.entries / 10)
          return notApplicable('num_tokens of the whole run: this one counts those of a step');
        const evidence = seams.map((i) => at(log, i, 'num_tokens', tokens[i]!));
        return seams.length > 0 ? warn(measured, evidence) : pass(measured);
      },
      says: (m) =>
        say`num_tokens falls ${m.seams} times: a resumed run restarted its count, and perhaps its data.`,
    }),
  ],
};
