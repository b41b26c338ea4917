import { rewardName, rewardProblem } from '../reward-kinds.js';
import { isGenerated } from '../sections/data.js';
import { sinkName, sinkProblem } from '../sections/sinks.js';
import type { Rule } from './rule.js';

const WITHOUT_EFFECT: Readonly<Record<string, { why: string; keys: readonly string[] }>> = {
  arithmetic: {
    why: 'makes its own problems and prompts',
    keys: ['data', 'evalData', 'grading', 'prompt', 'system', 'questionKey', 'answerKey'],
  },
  sudoku: {
    why: 'makes its own problems and prompts',
    keys: ['data', 'evalData', 'grading', 'prompt', 'system', 'questionKey', 'answerKey'],
  },
  chess: {
    why: 'has rows of text, P and A',
    keys: ['grading', 'prompt', 'system', 'questionKey', 'answerKey'],
  },
  bbq: { why: 'has rows in the layout of BBQ', keys: ['grading', 'questionKey', 'answerKey'] },
  halueval: { why: 'has rows in the layouts of HaluEval', keys: ['grading', 'questionKey', 'answerKey'] },
  mix: { why: 'has its files in task.mix', keys: ['data', 'evalData', 'prompt'] },
  countdown: { why: 'has rows with nums and target', keys: ['grading', 'questionKey', 'answerKey'] },
};

/** What a task needs, and what would have no effect on it; rewards and sinks that cannot be. */
export const taskRules: readonly Rule[] = [
  {
    keys: ['task.name', 'task.data'],
    check: ({ task }) => {
      if (task.name === undefined) {
        return 'no task. Give task.data=FILE.jsonl, or task.name=arithmetic for built-in problems.';
      }
      return !isGenerated(task.name) && task.name !== 'mix' && task.data === undefined
        ? `the task ${task.name} needs a file of problems. Give task.data=FILE.jsonl.`
        : undefined;
    },
  },
  {
    keys: ['task.name', 'task.mix'],
    check: ({ task }) => {
      if (task.name !== 'mix')
        return task.mix && `the task ${task.name} is no mixture. Use task.name=mix, or take task.mix out.`;
      const fileless = (task.mix ?? []).find(({ name, data }) => !isGenerated(name) && data === undefined);
      if (fileless)
        return `the task ${fileless.name} of the mixture needs a file of problems. Give it data: FILE.jsonl.`;
      return task.mix
        ? undefined
        : 'a mixture needs its tasks. Give task.mix=[{name: bbq, data: FOLDER}, {name: halueval, data: FOLDER}].';
    },
  },
  {
    keys: ['task.name', 'task.slips'],
    check: ({ task }, { given }) =>
      !isGenerated(task.name ?? '') && given('task.slips')
        ? 'your own demonstrations are used as they are. task.slips is for task.name=arithmetic and sudoku; take it out.'
        : undefined,
  },
  {
    keys: ['task.name', 'task.engine'],
    check: ({ task }, { given }) =>
      ![task.name, ...(task.mix ?? []).map(({ name }) => name)].includes('chess') && given('task.engine')
        ? 'only the task chess asks a chess engine. Take task.engine out.'
        : undefined,
  },
  ...Object.entries(WITHOUT_EFFECT).flatMap(([name, { why, keys }]) =>
    keys.map(
      (key): Rule => ({
        keys: ['task.name', `task.${key}`],
        check: ({ task }, { given }) =>
          task.name === name && given(`task.${key}`)
            ? `the task ${name} ${why}, so task.${key} has no effect. Use task.name=jsonl, or take it out.`
            : undefined,
      }),
    ),
  ),
  {
    keys: ['model'],
    check: ({ model, task }, { command }) => {
      const needsNone =
        /^(demo|data check|reward check)$/.test(command) ||
        (/^(arithmetic|sudoku|chess)$/.test(task.name ?? '') && /^(train|sft|expert)$/.test(command));
      return model === undefined && !needsNone
        ? 'no model. Give model=FOLDER, a Hugging Face model folder (config.json, safetensors, tokenizer.json), or ORG/NAME after grpo fetch ORG/NAME. grpo tiny-model FOLDER makes a small one to try things on.'
        : undefined;
    },
  },
  {
    keys: ['rewards'],
    check: ({ rewards }) => {
      const wrong = rewards.flatMap((reward, i) => {
        const problem = rewardProblem(reward);
        return problem === undefined ? [] : [`rewards.${i} ${problem}.`];
      });
      if (wrong.length > 0) return wrong.join(' ');
      const names = rewards.map(rewardName);
      const twice = names.find((name, i) => names.indexOf(name) !== i);
      return twice === undefined
        ? undefined
        : `two rewards are named '${twice}'. Give one of them another name.`;
    },
  },
  {
    keys: ['sinks'],
    check: ({ sinks }) => {
      const problem = sinks.map(sinkProblem).find((one) => one !== undefined);
      if (problem !== undefined) return `${problem}.`;
      const names = sinks.map(sinkName);
      const twice = names.find((name, i) => names.indexOf(name) !== i);
      return twice === undefined
        ? undefined
        : `two sinks are ${twice}, and a run has one of each. Take one out.`;
    },
  },
  {
    keys: ['task.grading', 'rewards'],
    check: ({ task, rewards, advantage }, { command }) =>
      // SFT imitates; it can do without any reward.
      task.grading === 'none' &&
      command !== 'sft' &&
      !(command === 'train' && advantage.weight === 0) &&
      rewards.every(({ weight }) => weight === 0)
        ? 'without grading only your own rewards distinguish a good completion from a bad one, and none of them has a weight. Give rewards=[{module: FILE.ts}], or use task.grading=numeric.'
        : undefined,
  },
  {
    keys: ['task.grading', 'expert.threshold'],
    check: ({ task, expert }) =>
      task.grading === 'none' && expert.threshold === undefined
        ? 'without grading no completion is right, so it must be said which reward is enough. Give expert.threshold=NUMBER.'
        : undefined,
  },
];
