import type { ConfigCommand } from './command-keys.js';
import { inert, truncates, usesOldPolicy } from './inert.js';
import { rewardName, rewardProblem } from './reward-kinds.js';
import type { Config } from './schema.js';
import { isGenerated } from './sections/data.js';
import { usesLora } from './sections/lora.js';
import { rolloutSection } from './sections/rollout.js';
import { sinkName, sinkProblem } from './sections/sinks.js';

/** Facts that a rule reads beside the configuration. */
export interface RuleContext {
  command: ConfigCommand;
  /** Whether somebody gave the key a value other than its default, by hand and not by a preset. */
  given(path: string): boolean;
}

/** A rule between keys. It is checked for commands that read all of `keys`, and its message names them. */
export interface Rule {
  keys: readonly string[];
  /** The problem and its remedy, or undefined when all is well. */
  check(config: Config, context: RuleContext): string | undefined;
}

/** Settings that have no effect on a task, and why. */
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

/** Settings that, unless they have their default, draw completions from another distribution than the policy. */
const DISTORTING = ['minNewTokens', 'repetitionPenalty', 'presencePenalty', 'frequencyPenalty'] as const;
const PLAIN_ROLLOUT = rolloutSection.parse({});

export const rules: readonly Rule[] = [
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
    keys: ['train.repeatBatch', 'groups.refills'],
    check: ({ train, groups }) =>
      train.repeatBatch && groups.refills > 0
        ? 'a batch that is repeated takes no further problems. Take one of the two out.'
        : undefined,
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
        ? 'no model. Give model=FOLDER, a Hugging Face model folder (config.json, safetensors, tokenizer.json), or ORG/NAME after grpo fetch ORG/NAME.'
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
    check: ({ task, rewards }, { command }) =>
      // SFT imitates; it can do without any reward.
      task.grading === 'none' && command !== 'sft' && rewards.every(({ weight }) => weight === 0)
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
    keys: ['rollout.engine', 'rollout.urls'],
    check: ({ rollout: { engine, urls = [] } }) => {
      if (engine === 'own') return undefined;
      if (urls.length === 0)
        return `engine=${engine} asks servers, and there are none. Give rollout.urls=[http://HOST:PORT].`;
      const twice = urls.find((url, i) => urls.indexOf(url) !== i);
      return twice && `${twice} is there twice. Take one out.`;
    },
  },
  {
    keys: ['rollout.engine', 'lora.rank', 'lora.adapter'],
    check: (config) =>
      config.rollout.engine === 'vllm' && !usesLora(config)
        ? 'a released vLLM takes whole weights by NCCL only, which this trainer does not speak. Train an adapter (lora.rank=16), or sample with SGLang (rollout.engine=sglang), which reads weights from a folder.'
        : undefined,
  },
  ...DISTORTING.map(
    (name): Rule => ({
      keys: ['rollout.engine', `rollout.${name}`],
      check: ({ rollout }) =>
        rollout.engine !== 'own' && rollout[name] !== PLAIN_ROLLOUT[name]
          ? `a server answers with log-probs of the distribution that it drew from, and with rollout.${name} that is not the policy's: ratios and corrections would be wrong. Use rollout.${name}=${PLAIN_ROLLOUT[name]}.`
          : undefined,
    }),
  ),
  ...(['topP', 'topK', 'minP'] as const).map(
    (name): Rule => ({
      keys: ['rollout.engine', `rollout.${name}`, 'rollout.keepSupport'],
      check: ({ rollout }) =>
        rollout.engine !== 'own' && rollout[name] !== PLAIN_ROLLOUT[name] && !rollout.keepSupport
          ? `a server answers with log-probs over the ids that rollout.${name} leaves, and without these ratios and corrections would be wrong. Use rollout.keepSupport=true, or rollout.${name}=${PLAIN_ROLLOUT[name]}.`
          : undefined,
    }),
  ),
  {
    keys: ['rollout.engine', 'rollout.topK', 'rollout.topP', 'rollout.minP'],
    check: ({ rollout }) =>
      rollout.engine === 'vllm' && truncates(rollout) && rollout.topK === 0
        ? 'vLLM tells the ids that sampling kept only where a top-k bounds them. Give rollout.topK, such as 512, beside top-p and min-p.'
        : undefined,
  },
  {
    keys: ['objective.oldLogprobs', 'objective.iterations', 'objective.minibatches'],
    check: (config) => {
      const { oldLogprobs, iterations, minibatches } = config.objective;
      return oldLogprobs === 'detach' && iterations * minibatches > 1 && usesOldPolicy(config)
        ? `${iterations * minibatches} updates from one rollout need old log-probs of their own: with detach the ratio would stay 1 and nothing would be clipped. Use objective.oldLogprobs=recompute or sampler.`
        : undefined;
    },
  },
  ...inert.map(
    ({ key, beside, because }): Rule => ({
      keys: [key, ...beside],
      check: (config, { given }) => {
        const why = given(key) ? because(config) : undefined;
        return why && `${key} has no effect: ${why}. Take it out, or change the other.`;
      },
    }),
  ),
  {
    keys: ['rollout.prompts', 'objective.minibatches'],
    check: ({ rollout: { prompts }, objective: { minibatches } }) =>
      prompts % minibatches !== 0
        ? `${prompts} prompts do not split into ${minibatches} minibatches of whole groups. Make prompts a multiple of minibatches.`
        : undefined,
  },
  {
    keys: ['groups.overlongBuffer', 'rollout.maxNewTokens'],
    check: ({ groups: { overlongBuffer }, rollout: { maxNewTokens } }) =>
      overlongBuffer > maxNewTokens
        ? `a buffer of ${overlongBuffer} tokens does not fit into completions of at most ${maxNewTokens}. Lower it.`
        : undefined,
  },
  {
    keys: ['groups.overlongBuffer', 'rewards'],
    check: ({ groups: { overlongBuffer }, rewards }) =>
      overlongBuffer > 0 && rewards.some((reward) => rewardName(reward) === 'overlong')
        ? "the buffer makes a reward named 'overlong', and one of yours has that name. Give yours another name."
        : undefined,
  },
  ...(['objective.compat', 'groups.overlongBuffer', 'kl.place'] as const).map(
    (key): Rule => ({
      keys: ['advantage.scale', key],
      check: ({ advantage, objective, groups, kl }) => {
        if (advantage.scale !== 'mean' || advantage.combine === 'normalize_then_sum') return undefined;
        const isBeside = {
          'objective.compat': objective.compat !== undefined && 'TRL has no such scale',
          'groups.overlongBuffer':
            groups.overlongBuffer > 0 && 'the penalty of the buffer makes rewards below 0',
          'kl.place':
            kl.beta > 0 && kl.place === 'reward' && 'a KL that is taken from the reward makes it less than 0',
        }[key];
        return isBeside
          ? `${isBeside}, and scale=mean is for rewards of 0 and 1. Use advantage.scale=group, or take ${key} out.`
          : undefined;
      },
    }),
  ),
  ...(['refills', 'replay'] as const).map(
    (key): Rule => ({
      keys: [`groups.${key}`, 'advantage.baseline'],
      check: ({ groups, advantage }) =>
        groups[key] > 0 && advantage.baseline === 'none'
          ? `without a baseline a group of equal rewards is learnt from as any other, so groups.${key} would take away what is wanted. Use a baseline, or groups.${key}=0.`
          : undefined,
    }),
  ),
  ...(['refills', 'replay'] as const).map(
    (key): Rule => ({
      keys: [`groups.${key}`, 'advantage.combine'],
      check: ({ groups, advantage }) =>
        groups[key] > 0 && advantage.combine === 'normalize_then_sum'
          ? `rewards that are compared one by one may differ where their sums are equal, and groups.${key} looks at the sums. Use advantage.combine=sum_then_normalize, or groups.${key}=0.`
          : undefined,
    }),
  ),
  {
    keys: ['objective.policy', 'objective.ratio', 'objective.module'],
    check: ({ objective: { policy, ratio, module } }) =>
      ratio === 'none' && policy !== 'reinforce' && module === undefined
        ? `the policy term ${policy} is one of a ratio. Use objective.ratio=token or sequence, or objective.policy=reinforce.`
        : undefined,
  },
  {
    keys: ['groups.replay', 'objective.oldLogprobs'],
    check: ({ groups, objective }) =>
      groups.replay > 0 && objective.oldLogprobs === 'detach'
        ? 'replayed groups were sampled by an earlier policy, and detach would compare them with the current one. Use objective.oldLogprobs=sampler or recompute.'
        : undefined,
  },
  {
    keys: ['groups.replay', 'objective.policy', 'objective.module'],
    check: ({ groups, objective: { policy, module } }) =>
      groups.replay > 0 && policy === 'reinforce' && module === undefined
        ? 'replayed groups were sampled by an earlier policy, and reinforce does not compare with it. Use a loss with a ratio, such as objective.loss=grpo.'
        : undefined,
  },
  {
    keys: ['groups.replay', 'kl.place'],
    check: ({ groups, kl }) =>
      groups.replay > 0 && kl.place === 'reward'
        ? 'a KL in the reward is that of the policy that sampled, which for replayed groups is gone. Use kl.place=loss.'
        : undefined,
  },
  {
    keys: ['diffusion.estimator', 'diffusion.maskRates'],
    check: ({
      diffusion: {
        estimator,
        maskRates: [least, most],
      },
    }) => {
      if (least > most) return `the least share, ${least}, is above the largest, ${most}. Swap them.`;
      return estimator === 'coupled' && most === 1
        ? 'where all is hidden the other half is empty, and its weight 1 / (1 - rate) has no value. Use a largest share below 1.'
        : undefined;
    },
  },
  {
    keys: ['correction.action', 'correction.measure', 'correction.level'],
    check: ({ correction: { level, measure, action } }) => {
      if (level === 'off' || action !== 'truncate') return undefined;
      if (measure === 'ratio' && level !== 'sequence_max') return undefined;
      const what =
        measure === 'ratio' ? 'the largest ratio of a completion' : `a distance (measure=${measure})`;
      return `truncate moves a weight to the bound, and ${what} is no weight. Use correction.action=mask or reject.`;
    },
  },
  {
    keys: ['correction.action', 'correction.min', 'correction.max'],
    check: ({ correction: { level, action, min, max } }) => {
      if (level === 'off' || action === 'truncate') return undefined;
      return min === undefined && max === undefined
        ? `action=${action} leaves out what is beyond the bounds, and there are none. Give correction.max, or correction.min too.`
        : undefined;
    },
  },
  {
    keys: ['kl.control', 'kl.target'],
    check: ({ kl: { control, target } }) =>
      control !== 'fixed' && target === undefined
        ? `control=${control} moves the weight of the KL towards a target, and there is none. Give kl.target, 0.1 for instance.`
        : undefined,
  },
  {
    keys: ['kl.beta', 'kl.least', 'kl.most'],
    check: ({ kl: { control, beta, least, most } }) =>
      control !== 'fixed' && (beta < least || beta > (most ?? beta))
        ? `the weight begins at ${beta}, outside of its bounds. Begin within them.`
        : undefined,
  },
  {
    keys: ['entropy.coefficient', 'entropy.least', 'entropy.most'],
    check: ({ entropy: { adaptive, coefficient, least, most } }) =>
      adaptive && (coefficient < least || coefficient > most)
        ? `the weight begins at ${coefficient}, outside of its bounds. Begin within them.`
        : undefined,
  },
  {
    keys: ['kl.place', 'kl.estimator'],
    check: ({ kl: { place, estimator } }) =>
      place === 'reward' && estimator === 'full'
        ? 'the KL in the reward is taken from the log-probs of what was sampled, and those of the whole vocabulary are not there. Use kl.estimator=k1.'
        : undefined,
  },
  {
    keys: ['kl.place', 'advantage.combine'],
    check: ({ kl: { place }, advantage: { combine } }) =>
      place === 'reward' && combine === 'normalize_then_sum'
        ? 'each reward is divided by its own deviation, the KL too, and its weight would have no effect. Use kl.place=loss.'
        : undefined,
  },
  {
    keys: ['lora.dropout'],
    check: ({ lora: { dropout } }, { command }) =>
      command === 'train' && dropout > 0
        ? 'GRPO compares the log-probs of its updates with those of the sampler, which leaves nothing out: ratios would not be 1 where nothing has changed. Take it out; it is for sft and expert.'
        : undefined,
  },
  {
    keys: ['kl.referenceEvery', 'kl.referenceMix', 'lora.rank', 'lora.adapter'],
    check: (config) =>
      usesLora(config) && config.kl.referenceEvery > 0 && config.kl.referenceMix < 1
        ? 'a mean of two adapters is not the adapter of the mean, so a reference with adapters can only become the policy. Use kl.referenceMix=1.'
        : undefined,
  },
  {
    keys: ['kl.warmupSteps', 'train.steps'],
    check: ({ kl: { warmupSteps }, train: { steps } }) =>
      warmupSteps > steps
        ? `a warm-up of ${warmupSteps} steps never ends within ${steps}. Lower it.`
        : undefined,
  },
  {
    keys: ['optimizer.minLearningRate'],
    check: (config, { command }) => {
      const key = command === 'train' ? 'optimizer.learningRate' : 'sft.learningRate';
      const { learningRate } = command === 'train' ? config.optimizer : config.sft;
      const { minLearningRate } = config.optimizer;
      return minLearningRate > learningRate
        ? `a learning rate cannot fall from ${key}=${learningRate} to ${minLearningRate}. Lower it.`
        : undefined;
    },
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
