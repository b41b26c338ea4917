/** A run that goes wrong over its steps: none of them shows it alone. */
import type { LabRun } from '../lab-run.js';
import { type LettersRow, lettersTask } from '../letters-task.js';
import type { PlantedFault } from './planted-fault.js';

/** Steps that show a course: the levels of eighths are compared. */
const STEPS = 24;
/** More steps than a run takes to begin to move. */
const MANY_STEPS = 104;

/** A judge that gives nothing from some completion on. */
function dying(after: number): LabRun {
  let judged = 0;
  const right = (completion: string, { answer }: LettersRow) =>
    judged++ < after ? [...answer].filter((letter, i) => completion[i] === letter).length / answer.length : 0;
  return { steps: STEPS, task: lettersTask({ rewards: { right } }) };
}

export const courseFaults: readonly PlantedFault[] = [
  {
    code: 'B61',
    variants: [
      {
        name: 'a learning rate of 50 times as much',
        run: () => ({ steps: STEPS, settings: ['optimizer.learningRate=5e-2'] }),
      },
      {
        name: 'an entropy bonus that outweighs the reward',
        run: () => ({ steps: STEPS, settings: ['entropy.coefficient=0.5'] }),
      },
      { name: 'a reward that dies', run: () => dying(300) },
    ],
  },
  {
    code: 'B62',
    variants: [
      {
        name: 'a learning rate of nearly 0',
        run: () => ({
          steps: MANY_STEPS,
          settings: [
            'optimizer.learningRate=1e-7',
            'kl.beta=0.001',
            'rollout.prompts=1',
            'rollout.group=4',
            'rollout.maxNewTokens=6',
          ],
        }),
      },
    ],
  },
];
