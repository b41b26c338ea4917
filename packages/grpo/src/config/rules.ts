import { basename, extname } from 'node:path';
import type { ConfigCommand } from './command-keys.js';
import type { Config, RewardModule } from './schema.js';

/** What a rule looks at beside the configuration. */
export interface RuleContext {
  command: ConfigCommand;
  /** Whether somebody gave the key a value other than its default. */
  given(path: string): boolean;
}

/** A rule between keys. It is checked for commands that read all of `keys`, and its message names them. */
export interface Rule {
  keys: readonly string[];
  /** What is wrong and what to do, or undefined when all is well. */
  check(config: Config, context: RuleContext): string | undefined;
}

/** The name of a reward in the metrics: its own, or that of its file. */
export function rewardName(reward: RewardModule): string {
  return reward.name ?? basename(reward.module, extname(reward.module));
}

/** Settings that have no effect on generated problems, or on a user's own. */
const JSONL_ONLY = ['data', 'evalData', 'grading', 'prompt', 'system', 'questionKey', 'answerKey'].map(
  (key) => `task.${key}`,
);

export const rules: readonly Rule[] = [
  {
    keys: ['task.name', 'task.data'],
    check: ({ task }) => {
      if (task.name === undefined) {
        return 'no task. Give task.data=FILE.jsonl, or task.name=arithmetic for built-in problems.';
      }
      return task.name === 'jsonl' && task.data === undefined
        ? 'the task jsonl needs a file of problems. Give task.data=FILE.jsonl.'
        : undefined;
    },
  },
  {
    keys: ['task.name', 'task.slips'],
    check: ({ task }, { given }) =>
      task.name !== 'arithmetic' && given('task.slips')
        ? 'your own demonstrations are used as they are. task.slips is for task.name=arithmetic; take it out.'
        : undefined,
  },
  ...JSONL_ONLY.map(
    (path): Rule => ({
      keys: ['task.name', path],
      check: ({ task }, { given }) =>
        task.name === 'arithmetic' && given(path)
          ? `the task arithmetic makes its own problems and prompts, so ${path} has no effect. Use task.name=jsonl, or take it out.`
          : undefined,
    }),
  ),
  {
    keys: ['model'],
    check: ({ model, task }, { command }) => {
      const makesItsOwn =
        command === 'demo' || (task.name === 'arithmetic' && /^(train|sft|expert)$/.test(command));
      return model === undefined && !makesItsOwn
        ? 'no model. Give model=FOLDER, a Hugging Face model folder (config.json, safetensors, tokenizer.json), or ORG/NAME after grpo fetch ORG/NAME.'
        : undefined;
    },
  },
  {
    keys: ['rewards'],
    check: ({ rewards }) => {
      const names = rewards.map(rewardName);
      const twice = names.find((name, i) => names.indexOf(name) !== i);
      return twice === undefined
        ? undefined
        : `two rewards are named '${twice}'. Give one of them another name.`;
    },
  },
  {
    keys: ['task.grading', 'rewards'],
    check: ({ task, rewards }, { command }) =>
      // SFT imitates; it can do without any reward.
      task.grading === 'none' && command !== 'sft' && rewards.every(({ weight }) => weight === 0)
        ? 'without grading only your own rewards tell a good completion from a bad one, and there is none with a weight. Give rewards=[{module: FILE.ts}], or use task.grading=numeric.'
        : undefined,
  },
  {
    keys: ['task.grading', 'expert.threshold'],
    check: ({ task, expert }) =>
      task.grading === 'none' && expert.threshold === undefined
        ? 'without grading no completion is right, so it must be said which reward is enough. Give expert.threshold=NUMBER.'
        : undefined,
  },
  {
    keys: ['eval.samples', 'eval.k'],
    check: ({ eval: { samples, k } }) => {
      const most = Math.max(0, ...(k ?? []));
      return most > samples
        ? `pass@${most} takes at least ${most} samples of a problem, eval.samples is ${samples}. Raise it, or lower eval.k.`
        : undefined;
    },
  },
  {
    keys: ['rollout.minNewTokens', 'rollout.maxNewTokens'],
    check: ({ rollout: { minNewTokens, maxNewTokens } }) =>
      minNewTokens > maxNewTokens
        ? `at least ${minNewTokens} tokens cannot fit into at most ${maxNewTokens}. Raise maxNewTokens or lower minNewTokens.`
        : undefined,
  },
  {
    keys: ['rollout.temperature', 'rollout.group'],
    check: ({ rollout }, { command }) => {
      const useless = command === 'expert' ? 'one of them would do' : 'every advantage is 0';
      return rollout.temperature === 0
        ? `at temperature 0 all completions of a group are equal, so ${useless}. Use a temperature above 0.`
        : undefined;
    },
  },
  {
    keys: ['objective.oldLogprobs', 'objective.iterations', 'objective.minibatches'],
    check: ({ objective: { oldLogprobs, iterations, minibatches } }) =>
      oldLogprobs === 'detach' && iterations * minibatches > 1
        ? `${iterations * minibatches} updates from one rollout need old log-probs of their own: with detach the ratio would stay 1 and nothing would be clipped. Use objective.oldLogprobs=recompute or sampler.`
        : undefined,
  },
  {
    keys: ['rollout.prompts', 'objective.minibatches'],
    check: ({ rollout: { prompts }, objective: { minibatches } }) =>
      prompts % minibatches !== 0
        ? `${prompts} prompts do not split into ${minibatches} minibatches of whole groups. Make prompts a multiple of minibatches.`
        : undefined,
  },
  {
    keys: ['optimizer.warmupSteps'],
    check: ({ optimizer, train, sft, expert }, { command }) => {
      const [key, steps] =
        command === 'sft'
          ? ['sft.steps', sft.steps]
          : command === 'expert'
            ? ['expert.iterations', expert.iterations]
            : ['train.steps', train.steps];
      return optimizer.warmupSteps > steps
        ? `a warm-up of ${optimizer.warmupSteps} steps never ends within ${key}=${steps}. Lower it.`
        : undefined;
    },
  },
];
