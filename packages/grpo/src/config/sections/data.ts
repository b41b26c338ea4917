import { z } from 'zod';
import { count, positive, probability } from './numbers.js';

/** What is asked, and how answers are found. */
export const taskSection = z.strictObject({
  name: z
    .enum(['arithmetic', 'jsonl'])
    .optional()
    .describe('Built-in problems (arithmetic) or your own (jsonl). jsonl when task.data is given'),
  data: z
    .string()
    .optional()
    .describe('JSON Lines file of problems, one object a line with a question and, to be graded, an answer'),
  evalData: z
    .string()
    .optional()
    .describe(
      'JSON Lines file of held-out problems. Without it, task.evalSize rows of task.data are held out',
    ),
  evalSize: count
    .default(200)
    .describe('Problems held out for evaluation: more narrows its interval, less leaves more to train on'),
  grading: z
    .enum(['numeric', 'none'])
    .default('numeric')
    .describe(
      'jsonl: numeric asks for think/answer and rewards the right number; none asks the question as it is and leaves rewarding to your rewards',
    ),
  prompt: z
    .string()
    .optional()
    .describe('Text file with {question} in it, used byte for byte in place of the built-in prompt'),
  system: z
    .string()
    .optional()
    .describe(
      "System message before every question, through the model's chat template; empty text is the template without one. Plain text when not given",
    ),
  stop: z
    .array(z.string().min(1))
    .optional()
    .describe("Strings that end a completion and stay in it, in place of the task's own"),
  slips: probability
    .default(0.7)
    .describe(
      'arithmetic: share of the carries that its demonstrations forget: more makes SFT a worse teacher, 0 = none',
    ),
  questionKey: z.string().min(1).default('question').describe('Field of a row that holds the question'),
  answerKey: z
    .string()
    .min(1)
    .default('answer')
    .describe('Field of a row that holds the answer; task.grading=none needs none'),
});

const reward = z.strictObject({
  module: z.string().min(1).describe('TypeScript or JavaScript file whose default export scores completions'),
  name: z.string().min(1).optional().describe('Name in the metrics. The file name when not given'),
  weight: z
    .number()
    .default(1)
    .describe('Factor in the weighted sum: 0 logs the reward without training on it'),
  timeoutSeconds: positive
    .optional()
    .describe(
      'Seconds that one batch may take, in a worker: more tolerates slow graders. No limit when not given',
    ),
});

/** The user's own reward functions. */
export const rewardsList = z
  .array(reward)
  .default([])
  .describe(
    'Your reward modules: [{module, name, weight, timeoutSeconds}], added to what task.grading rewards; needed with task.grading=none',
  );
