import { z } from 'zod';
import { count, positive, probability } from './number-schemas.js';

/** Tasks that make their problems, and need no file. */
const GENERATED = ['arithmetic', 'sudoku'] as const;

/** Whether a task makes its problems. */
export const isGenerated = (name: string): boolean => (GENERATED as readonly string[]).includes(name);

/** Tasks that have problems of their own, in the order of the help. */
const SINGLE = [...GENERATED, 'jsonl', 'countdown', 'chess', 'bbq', 'halueval'] as const;
const TASK_NAMES = [...SINGLE, 'mix'] as const;

const part = z.strictObject({
  name: z.enum(SINGLE).describe('Which task, as task.name'),
  data: z.string().optional().describe('Its problems, as task.data'),
  evalData: z.string().optional().describe('Its held-out problems, as task.evalData'),
  prompt: z.string().optional().describe('Its prompt, as task.prompt'),
  share: positive.default(1).describe('Its share of a batch, relative to the other tasks'),
});

/** Problems, their prompts and their answers. */
export const taskSection = z.strictObject({
  name: z
    .enum(TASK_NAMES)
    .optional()
    .describe(
      'Built-in problems (arithmetic, sudoku), your own (jsonl), the Countdown game (countdown), chess in rows of RookWorld (chess), fairness in rows of BBQ (bbq), hallucination in rows of HaluEval (halueval), or several of them (mix). jsonl when task.data is given',
    ),
  data: z
    .string()
    .optional()
    .describe(
      'File of problems, JSON Lines, a JSON array or Parquet: rows with a question and, to be graded, an answer. countdown: rows with nums and target. bbq and halueval take a folder of files too',
    ),
  evalData: z
    .string()
    .optional()
    .describe(
      'File of held-out problems, in the same form. Without it, task.evalSize rows of task.data are held out',
    ),
  mix: z
    .array(part)
    .min(2)
    .optional()
    .describe(
      'mix: the tasks, [{name, data, evalData, prompt, share}]; every batch has problems of each by its share, and kl.kindKey is task',
    ),
  evalSize: count
    .optional()
    .describe(
      'Problems held out for evaluation: more narrows its interval, less leaves more to train on. A fifth of task.data, at most 200, when not given; arithmetic and sudoku: 200',
    ),
  grading: z
    .enum(['numeric', 'math', 'r1_zero', 'question_only', 'none'])
    .default('numeric')
    .describe(
      'jsonl: numeric asks for think/answer and rewards the right number, math any right answer, LaTeX included; r1_zero and question_only are the graders of CS336, with </think> <answer> or a box; none asks the question as it is and leaves rewarding to your rewards',
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
      'Share of the carries that demonstrations of arithmetic forget, and of the grids that those of sudoku fill with the next digits: more makes SFT a worse teacher, 0 = none',
    ),
  engine: z
    .string()
    .min(1)
    .optional()
    .describe(
      'chess: path or name of a UCI engine such as stockfish, which judges P completions. Without it their form and legality are scored, on another scale',
    ),
  questionKey: z.string().min(1).default('question').describe('Field of a row that holds the question'),
  answerKey: z
    .string()
    .min(1)
    .default('answer')
    .describe('Field of a row that holds the answer; task.grading=none needs none'),
});
