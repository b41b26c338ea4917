import { describe, expect, it } from 'vitest';
import { UsageError } from '../../errors/user-error.js';
import { keys } from '../keys.js';
import { resolveConfig } from '../resolve.js';
import { rules } from './rules.js';

const OWN = ['task.data=a.jsonl', 'model=m'];
const MIX = 'task.mix=[{name: bbq, data: a}, {name: halueval, data: b}]';
const REPLAY = [...OWN, 'groups.replay=8', 'objective.oldLogprobs=sampler'];
const REINFORCE = [...OWN, 'objective.loss=reinforce_with_baseline'];
const GDPO = [...OWN, 'advantage.combine=normalize_then_sum'];
type Case = [
  rule: RegExp,
  broken: string[],
  mended: string[],
  command?: 'train' | 'sft' | 'expert' | 'eval' | 'generate' | 'data check',
];

const KL = [...OWN, 'kl.beta=0.1'];

const TAUGHT = [...KL, 'teacher.model=t'];
const SERVED_TEACHER = [...KL, 'teacher.engine=vllm', 'teacher.url=http://a:1'];

/** A setting that has no effect beside some, and one beside others. */
function inert(setting: string, beside: string[], mended: string[], why: RegExp): Case {
  const key = setting.split('=')[0]!;
  const message = new RegExp(
    `^(.*\n)?.*${key} \\(command line\\).*: ${key} has no effect: .*${why.source}`,
    's',
  );
  return [message, [...beside, setting], [...mended, setting]];
}

/** Settings beside which each value of a choice is sound. */
const BESIDE: Record<string, string[]> = {
  'objective.policy': OWN,
  'kl.control': [...KL, 'kl.target=1'],
  'diffusion.estimator': OWN,
  'correction.measure': [...OWN, 'correction.level=token', 'correction.action=reject', 'correction.max=2'],
};

/** A number, or numbers, that are not the default and stay within its bounds. */
const another = (standard: unknown): unknown =>
  Array.isArray(standard) ? standard.map(another) : 1.05 * (standard as number);

/** Every setting of a choice: beside a value that does not use it, and beside each that does. */
const ofChoices = keys.flatMap(({ path, default: standard = 1, schema: { appliesTo } }) => {
  if (appliesTo === undefined) return [];
  const { key, values } = appliesTo;
  const choices = keys.find((choice) => choice.path === key)!.schema.enum as string[];
  const others = choices.filter((choice) => !values.includes(choice) && choice !== 'fixed');
  return values.map((own) =>
    inert(
      `${path}=${JSON.stringify(another(standard))}`,
      [...BESIDE[key]!, `${key}=${others[0]}`],
      [...BESIDE[key]!, `${key}=${own}`],
      new RegExp(`=${others[0]} ${appliesTo.else}\\. It is for ${values.join(' and ')}`),
    ),
  );
});

const SERVED = [...OWN, 'rollout.engine=sglang', 'rollout.urls=[http://a:1]'];

const cases: Case[] = [
  [/engine=vllm asks servers, and there are none/, [...OWN, 'rollout.engine=vllm', 'lora.rank=2'], OWN],
  [/http:\/\/a:1 is there twice/, [...SERVED, 'rollout.urls=[http://a:1/, http://a:1]'], SERVED],
  [
    /takes whole weights by NCCL only/,
    [...SERVED, 'rollout.engine=vllm'],
    [...SERVED, 'rollout.engine=vllm', 'lora.rank=2'],
  ],
  ...['minNewTokens=1', 'repetitionPenalty=1.1', 'presencePenalty=1', 'frequencyPenalty=1'].map(
    (setting): Case => [
      new RegExp(`with rollout\\.${setting.split('=')[0]} that is not the policy's`),
      [...SERVED, `rollout.${setting}`],
      [...OWN, `rollout.${setting}`],
    ],
  ),
  ...['topP=0.9', 'topK=20', 'minP=0.1'].map(
    (setting): Case => [
      /over the ids that rollout\.\w+ leaves, and without these/,
      [...SERVED, `rollout.${setting}`, 'rollout.keepSupport=false'],
      [...SERVED, `rollout.${setting}`],
    ],
  ),
  ...['repetitionPenalty=1.1', 'presencePenalty=1', 'frequencyPenalty=1'].map(
    (setting): Case => [
      new RegExp(`have rollout\\.${setting.split('=')[0]} in them for the sampler, and not for the trainer`),
      [...OWN, `rollout.${setting}`, 'rollout.topK=20'],
      [...OWN, `rollout.${setting}`, 'rollout.topK=20', 'rollout.keepSupport=false'],
    ],
  ),
  [
    /only where a top-k bounds them/,
    [...SERVED, 'rollout.engine=vllm', 'lora.rank=2', 'rollout.topP=0.9'],
    [...SERVED, 'rollout.engine=vllm', 'lora.rank=2', 'rollout.topP=0.9', 'rollout.topK=512'],
  ],
  inert('rollout.keepSupport=false', OWN, [...OWN, 'rollout.topP=0.9'], /every token can be drawn/),
  inert('rollout.urls=[http://a:1]', OWN, SERVED, /engine=own samples in this process/),
  inert('rollout.apiKeyEnv=KEY', OWN, SERVED, /engine=own samples in this process/),
  inert('rollout.timeoutSeconds=5', OWN, SERVED, /engine=own samples in this process/),
  inert('rollout.weightsFolder=w', OWN, SERVED, /engine=own samples in this process/),
  [/are 80000000 completions in a step, of at most/, [...OWN, 'rollout.prompts=10000000'], OWN],
  [/no task\. Give task\.data/, ['model=m'], OWN],
  [/may differ where their sums are equal/, [...GDPO, 'groups.refills=1'], [...OWN, 'groups.refills=1']],
  [/may differ where their sums are equal/, [...REPLAY, 'advantage.combine=normalize_then_sum'], REPLAY],
  [
    /the policy term clip is one of a ratio/,
    [...OWN, 'objective.ratio=none'],
    [...OWN, 'objective.ratio=token'],
  ],
  [
    /the least share, 0\.8, is above the largest, 0\.2/,
    [...OWN, 'diffusion.estimator=sum_masked', 'diffusion.maskRates=[0.8, 0.2]'],
    [...OWN, 'diffusion.estimator=sum_masked', 'diffusion.maskRates=[0.2, 0.8]'],
  ],
  [
    /the other half is empty/,
    [...OWN, 'diffusion.estimator=coupled', 'diffusion.maskRates=[0.2, 1]'],
    [...OWN, 'diffusion.estimator=sum_masked', 'diffusion.maskRates=[0.2, 1]'],
  ],
  [/jsonl needs a file/, ['task.name=jsonl', 'model=m'], ['task.name=jsonl', ...OWN]],
  ...['data=x', 'evalData=x', 'grading=none', 'prompt=x', 'system=x', 'questionKey=x', 'answerKey=x'].map(
    (setting): Case => [
      new RegExp(`task\\.name .*task\\.${setting.split('=')[0]} \\(command line\\): .*has no effect`),
      ['task.name=arithmetic', `task.${setting}`, 'rewards=[{module: a.ts}]'],
      [...OWN, `task.${setting}`, 'rewards=[{module: a.ts}]'],
    ],
  ),
  [
    /only the task chess asks a chess engine/,
    [...OWN, 'task.engine=stockfish'],
    ['task.name=chess', ...OWN, 'task.engine=stockfish'],
  ],
  [
    /the task chess has rows of text, P and A, so task\.system has no effect/,
    ['task.name=chess', ...OWN, 'task.system=x'],
    ['task.name=chess', ...OWN],
  ],
  [/countdown needs a file/, ['task.name=countdown', 'model=m'], ['task.name=countdown', ...OWN]],
  [
    /the task countdown has rows with nums and target, so task\.answerKey has no effect/,
    ['task.name=countdown', ...OWN, 'task.answerKey=x'],
    [...OWN, 'task.answerKey=x'],
  ],
  ...(['bbq', 'halueval'] as const).map(
    (name): Case => [
      new RegExp(`the task ${name} has rows in the layouts? of .*, so task\\.grading has no effect`),
      [`task.name=${name}`, ...OWN, 'task.grading=none', 'rewards=[{module: a.ts}]'],
      [`task.name=${name}`, ...OWN],
    ],
  ),
  [/a mixture needs its tasks/, ['task.name=mix', 'model=m'], [MIX, 'model=m']],
  [/the task jsonl is no mixture/, ['task.name=jsonl', MIX, ...OWN], [MIX, 'model=m']],
  [/the task mix has its files in task\.mix, so task\.data has no effect/, [MIX, ...OWN], [MIX, 'model=m']],
  [
    /the task bbq of the mixture needs a file/,
    [MIX.replace('data: a', 'share: 2'), 'model=m'],
    [MIX, 'model=m'],
  ],
  [
    /a batch that is repeated takes no further problems/,
    [...OWN, 'train.repeatBatch=true', 'groups.refills=1'],
    [...OWN, 'train.repeatBatch=true'],
  ],
  inert('eval.stopAt=0.5', OWN, [...OWN, 'eval.every=5'], /evaluated before and after the run only/),
  inert('train.kindGradients=1', OWN, [MIX, 'model=m'], /the problems are of one kind/),
  [/task\.data \(default\): no task/, [], ['task.data=a.jsonl'], 'data check'],
  [
    /task\.slips is for task\.name=arithmetic and sudoku/,
    [...OWN, 'task.slips=0.1'],
    ['task.name=arithmetic', 'task.slips=0.1'],
  ],
  [/^model \(default\): no model/, ['task.data=a.jsonl'], OWN],
  [/^model \(default\): no model/, ['task.name=arithmetic'], ['task.name=arithmetic', 'model=m'], 'eval'],
  [/^model \(default\): no model/, [], ['model=m'], 'generate'],
  [
    /two rewards are named 'length'/,
    [...OWN, 'rewards=[{module: a/length.ts}, {module: b/length.js}]'],
    [...OWN, 'rewards=[{module: a/length.ts}, {module: b/length.js, name: other}]'],
  ],
  [
    /two sinks are csv/,
    [...OWN, 'sinks=[csv, tensorboard, csv]'],
    [
      ...OWN,
      'sinks=[csv, tensorboard, {webhook: "http://here/a"}, {mlflow: "http://here:5000"}, {wandb: a}]',
    ],
  ],
  [/mlflow is not the address of a server/, [...OWN, 'sinks=[{mlflow: here}]'], OWN],
  [
    /the webhook at here is a secret/,
    [...OWN, 'sinks=[{webhook: "https://here/a?key=b"}]'],
    [...OWN, 'sinks=[{webhook: HOOK}]'],
  ],
  [
    /the webhook at here is a secret/,
    [...OWN, 'sinks=[{webhook: "https://here/hooks/9jk3rwq8mzo4xtn8"}]'],
    [...OWN, 'sinks=[{webhook: "https://here/hooks/of-our-own-training"}]'],
  ],
  [/mlflow has a name, password or query/, [...OWN, 'sinks=[{mlflow: "http://here/?key=b"}]'], OWN],
  ...[[], ['rewards=[{module: a.ts, weight: 0}]']].map(
    (none): Case => [
      /^task\.grading \(command line\), rewards \(.*\): without grading .* Give rewards=\[\{module/,
      [...OWN, 'task.grading=none', ...none],
      [...OWN, 'task.grading=none', 'rewards=[{module: a.ts, weight: -1}]'],
    ],
  ),
  [
    /without grading/,
    [...OWN, 'task.grading=none'],
    [...OWN, 'task.grading=none', 'rewards=[{module: a.ts}]'],
    'eval',
  ],
  [
    /at least 10 tokens cannot fit into at most 9/,
    [...OWN, 'rollout.minNewTokens=10', 'rollout.maxNewTokens=9'],
    [...OWN, 'rollout.minNewTokens=9', 'rollout.maxNewTokens=9'],
  ],
  [
    /reward is enough\. Give expert\.threshold/,
    [...OWN, 'task.grading=none', 'rewards=[{module: a.ts}]'],
    [...OWN, 'task.grading=none', 'rewards=[{module: a.ts}]', 'expert.threshold=0'],
    'expert',
  ],
  [
    /pass@8 takes at least 8 samples of a problem, eval\.samples is 4/,
    [...OWN, 'eval.k=[1, 8]', 'eval.samples=4'],
    [...OWN, 'eval.k=[1, 8]', 'eval.samples=8'],
    'eval',
  ],
  [
    /so one of them would do/,
    [...OWN, 'rollout.temperature=0'],
    [...OWN, 'rollout.temperature=0.01'],
    'expert',
  ],
  [
    /never ends within expert\.iterations=10/,
    [...OWN, 'optimizer.warmupSteps=20', 'expert.iterations=10'],
    [...OWN, 'optimizer.warmupSteps=20', 'expert.iterations=20'],
    'expert',
  ],
  [/every advantage is 0/, [...OWN, 'rollout.temperature=0'], [...OWN, 'rollout.temperature=0.01']],
  [
    /2 updates from one rollout .* ratio would stay 1 .*recompute or sampler/,
    [...OWN, 'objective.iterations=2'],
    [...OWN, 'objective.iterations=2', 'objective.oldLogprobs=sampler'],
  ],
  [
    /4 updates from one rollout/,
    [...OWN, 'objective.minibatches=4', 'objective.oldLogprobs=detach'],
    [...OWN, 'objective.minibatches=4', 'objective.oldLogprobs=recompute'],
  ],
  [
    /8 prompts do not split into 3 minibatches/,
    [...OWN, 'objective.minibatches=3', 'objective.oldLogprobs=sampler'],
    [...OWN, 'objective.minibatches=3', 'objective.oldLogprobs=sampler', 'rollout.prompts=9'],
  ],
  [
    /buffer of 257 tokens does not fit into completions of at most 256/,
    [...OWN, 'groups.overlongBuffer=257'],
    [...OWN, 'groups.overlongBuffer=256'],
  ],
  [
    /one of yours has that name/,
    [...OWN, 'groups.overlongBuffer=1', 'rewards=[{module: overlong.ts}]'],
    [...OWN, 'groups.overlongBuffer=1', 'rewards=[{module: overlong.ts, name: mine}]'],
  ],
  [
    /so groups\.refills would take away what is wanted/,
    [...OWN, 'groups.refills=1', 'objective.loss=no_baseline'],
    [...OWN, 'groups.refills=1', 'objective.loss=reinforce_with_baseline'],
  ],
  [
    /so groups\.replay would take away what is wanted/,
    [...REPLAY, 'advantage.baseline=none'],
    [...REPLAY, 'advantage.baseline=leave_one_out'],
  ],
  [
    /detach would compare them with the current one/,
    [...OWN, 'groups.replay=8'],
    [...OWN, 'groups.replay=8', 'objective.oldLogprobs=recompute'],
  ],
  [
    /and reinforce does not compare with it/,
    [...REPLAY, 'objective.policy=reinforce'],
    [...REPLAY, 'objective.loss=gspo'],
  ],
  [
    /for replayed groups is gone\. Use kl\.place=loss/,
    [...REPLAY, 'kl.beta=0.1', 'kl.place=reward'],
    [...REPLAY, 'kl.beta=0.1', 'kl.place=loss'],
  ],
  [
    /warm-up of 20 steps never ends within train\.steps=10/,
    [...OWN, 'optimizer.warmupSteps=20', 'train.steps=10'],
    [...OWN, 'optimizer.warmupSteps=10', 'train.steps=10'],
  ],
  [
    /never ends within sft\.steps=10/,
    [...OWN, 'optimizer.warmupSteps=20', 'sft.steps=10'],
    [...OWN, 'optimizer.warmupSteps=20', 'sft.steps=20'],
    'sft',
  ],
  [
    /kl\.control \(command line\), kl\.target \(default\): control=adaptive .* Give kl\.target/,
    [...KL, 'kl.control=adaptive'],
    [...KL, 'kl.control=adaptive', 'kl.target=0.1'],
  ],
  [
    /begins at 0\.1, outside of its bounds/,
    [...KL, 'kl.control=lagrangian', 'kl.target=0.1', 'kl.most=0.05'],
    [...KL, 'kl.control=lagrangian', 'kl.target=0.1', 'kl.most=0.1', 'kl.least=0.1'],
  ],
  [
    /begins at 0, outside of its bounds/,
    [...OWN, 'entropy.adaptive=true', 'entropy.least=0.01'],
    [...OWN, 'entropy.adaptive=true', 'entropy.least=0.01', 'entropy.coefficient=0.01'],
  ],
  [
    /those of the whole vocabulary are not there\. Use kl\.estimator=k1/,
    [...KL, 'kl.place=reward', 'kl.estimator=full'],
    [...KL, 'kl.place=reward', 'kl.estimator=k1'],
  ],
  [
    /its weight would have no effect/,
    [...KL, 'kl.place=reward', 'advantage.combine=normalize_then_sum'],
    [...KL, 'kl.place=loss', 'advantage.combine=normalize_then_sum'],
  ],
  [
    /warm-up of 20 steps never ends within 10/,
    [...KL, 'kl.warmupSteps=20', 'train.steps=10'],
    [...KL, 'kl.warmupSteps=10', 'train.steps=10'],
  ],
  ...(['train', 'sft'] as const).map(
    (command): Case => [
      /cannot fall from (optimizer|sft)\.learningRate=0\.00000?1 to 0\.001/,
      [...OWN, 'optimizer.schedule=cosine', 'optimizer.minLearningRate=1e-3'],
      [...OWN, 'optimizer.schedule=cosine', 'optimizer.minLearningRate=1e-7'],
      command,
    ],
  ),
  ...[
    ...['estimator=k1', 'level=sequence_sum', 'place=reward', 'biasCorrected=true', 'clip=20'],
    ...['warmupSteps=5', 'referenceEvery=8'],
  ].map((setting) => inert(`kl.${setting}`, [...OWN, 'kl.beta=0'], KL, /with kl\.beta=0 there is no KL/)),
  ...['url=http://a:1', 'apiKeyEnv=KEY'].map((setting) =>
    inert(
      `teacher.${setting}`,
      TAUGHT,
      [...SERVED_TEACHER, 'teacher.url=http://b:1'],
      /engine=own loads teacher\.model/,
    ),
  ),
  [/nothing is learnt from the teacher/, [...OWN, 'teacher.model=t'], TAUGHT],
  [/asks a server, and there is none/, [...KL, 'teacher.engine=vllm'], SERVED_TEACHER],
  [/either loaded here or asked on a server/, [...SERVED_TEACHER, 'teacher.model=t'], SERVED_TEACHER],
  [
    /not those of the whole vocabulary/,
    [...SERVED_TEACHER, 'kl.estimator=full'],
    [...TAUGHT, 'kl.estimator=full'],
  ],
  [
    /scores at temperature 1/,
    [...SERVED_TEACHER, 'rollout.temperature=0.8'],
    [...TAUGHT, 'rollout.temperature=0.8'],
  ],
  [
    /over the ids that sampling kept/,
    [...SERVED_TEACHER, 'rollout.topP=0.9'],
    [...TAUGHT, 'rollout.topP=0.9'],
  ],
  [/would be mixed into the teacher/, [...TAUGHT, 'kl.referenceEvery=8'], [...KL, 'kl.referenceEvery=8']],
  [/nothing is left to learn from/, [...OWN, 'advantage.weight=0'], [...TAUGHT, 'advantage.weight=0']],
  [/where the policy is already/, [...KL, 'advantage.weight=0'], [...TAUGHT, 'advantage.weight=0']],
  [
    /groups of equal rewards teach as any other/,
    [...TAUGHT, 'advantage.weight=0', 'groups.refills=2'],
    [...TAUGHT, 'groups.refills=2'],
  ],
  inert('kl.control=adaptive', [...OWN, 'kl.target=1'], [...KL, 'kl.target=1'], /with kl\.beta=0/),
  inert('kl.warmup=zero', KL, [...KL, 'kl.warmupSteps=5'], /there is no warm-up/),
  inert('kl.target=0.2', KL, [...KL, 'kl.control=lagrangian'], /leaves the weight alone/),
  ...['least=0.01', 'most=1', 'window=20'].map((setting) =>
    inert(`kl.${setting}`, KL, [...KL, 'kl.control=lagrangian', 'kl.target=1'], /leaves the weight alone/),
  ),
  inert('kl.referenceMix=0.5', KL, [...KL, 'kl.referenceEvery=8'], /reference stays/),
  inert('kl.biasCorrected=true', [...KL, 'kl.place=reward'], KL, /the ratio is 1/),
  ...['target=1', 'delta=0.1', 'least=0.01', 'most=2'].map((setting) =>
    inert(
      `entropy.${setting}`,
      [...OWN, 'entropy.coefficient=0.1'],
      [...OWN, 'entropy.coefficient=0.1', 'entropy.adaptive=true'],
      /Give entropy\.adaptive=true too/,
    ),
  ),
  inert(
    'optimizer.minLearningRate=1e-7',
    OWN,
    [...OWN, 'optimizer.schedule=linear'],
    /schedule=constant does not fall/,
  ),
  ...ofChoices,
  inert(
    'objective.clipLow=0.4',
    [...OWN, 'objective.policy=cispo'],
    [...OWN, 'objective.loss=gmpo'],
    /does not clip/,
  ),
  inert('objective.ratio=sequence', REINFORCE, OWN, /takes no ratio/),
  inert('objective.ratio=sequence', [...OWN, 'objective.loss=gmpo'], OWN, /takes no ratio/),
  inert(
    'objective.oldLogprobs=recompute',
    REINFORCE,
    [...REINFORCE, 'correction.level=token'],
    /does not compare/,
  ),
  inert('objective.normalizer=9', OWN, [...OWN, 'objective.loss=dr_grpo'], /divides by no constant/),
  inert('advantage.scale=batch', GDPO, OWN, /always divides by the deviation of the group/),
  ...['epsilon=1', 'floor=1'].map((setting) =>
    inert(`advantage.${setting}`, [...OWN, 'advantage.scale=none'], GDPO, /divides by no deviation/),
  ),
  inert(
    'advantage.ddof=0',
    [...OWN, 'advantage.scale=none'],
    [...OWN, 'advantage.scale=none', 'advantage.flatBelow=1'],
    /divides by no deviation/,
  ),
  ...['baseline=leave_one_out', 'ddof=0', 'floor=1'].map((setting) =>
    inert(`advantage.${setting}`, [...OWN, 'objective.compat=trl'], OWN, /do not know it/),
  ),
  ...['flatBelow=1', 'flat=raw'].map((setting) =>
    inert(`advantage.${setting}`, [...OWN, 'advantage.baseline=none'], OWN, /no group counts as flat/),
  ),
  inert('kl.clip=9', [...KL, 'kl.estimator=full'], KL, /no estimate/),
  inert('correction.level=token', [...OWN, 'objective.oldLogprobs=sampler'], OWN, /every weight is 1/),
  ...['action=mask', 'min=0.5', 'max=2'].map((setting) =>
    inert(
      `correction.${setting}`,
      OWN,
      [...OWN, 'correction.level=sequence', 'correction.max=3'],
      /nothing is corrected/,
    ),
  ),
  ...['alpha=4', 'targets=[q_proj]'].map((setting) =>
    inert(`lora.${setting}`, OWN, [...OWN, 'lora.rank=4'], /with lora\.rank=0 there are no adapters/),
  ),
  ...['rank=4', 'alpha=4', 'targets=[q_proj]'].map((setting) =>
    inert(`lora.${setting}`, [...OWN, 'lora.adapter=a'], [...OWN, 'lora.rank=4'], /has its own/),
  ),
  [
    /lora\.dropout has no effect: there are no adapters/,
    [...OWN, 'lora.dropout=0.1'],
    [...OWN, 'lora.dropout=0.1', 'lora.rank=4'],
    'sft',
  ],
  [
    /ratios would not be 1 where nothing has changed\. .* it is for sft and expert/,
    [...OWN, 'lora.rank=4', 'lora.dropout=0.1'],
    [...OWN, 'lora.rank=4'],
  ],
  ...(
    [
      [/TRL has no such scale/, 'objective.compat=trl'],
      [/the buffer makes rewards below 0/, 'groups.overlongBuffer=16'],
      [/a KL that is taken from the reward/, 'kl.place=reward'],
    ] as const
  ).map(
    ([message, setting]): Case => [
      message,
      [...KL, 'advantage.scale=mean', setting],
      [...KL, 'advantage.scale=group', setting],
    ],
  ),
  ...[
    ['correction.level=sequence_max', 'correction.max=2'],
    ['correction.level=token', 'correction.measure=k3', 'correction.max=0.01'],
  ].map(
    (settings): Case => [
      /Use correction\.action=mask or reject/,
      [...OWN, ...settings],
      [...OWN, ...settings, 'correction.action=reject'],
    ],
  ),
  [
    /leaves out what is beyond the bounds, and there are none/,
    [...OWN, 'correction.level=token', 'correction.action=mask'],
    [...OWN, 'correction.level=token', 'correction.action=mask', 'correction.max=2'],
  ],
  [
    /Use kl\.referenceMix=1/,
    [...KL, 'lora.rank=4', 'kl.referenceEvery=2'],
    [...KL, 'lora.rank=4', 'kl.referenceEvery=2', 'kl.referenceMix=1'],
  ],
  ...['temperature=0.5', 'k=[]'].map((setting) =>
    inert(`eval.${setting}`, [...OWN, 'eval.samples=0'], OWN, /draws no samples/),
  ),
];

describe('rules between keys', () => {
  it.each(cases)('%s', (message, broken, mended, command = 'train') => {
    expect(() => resolveConfig({ command, settings: broken })).toThrow(UsageError);
    expect(() => resolveConfig({ command, settings: broken })).toThrow(message);
    expect(() => resolveConfig({ command, settings: mended })).not.toThrow();
  });

  it('are all tried above', () => {
    const messages = cases.map(([, broken, , command = 'train']) => {
      try {
        resolveConfig({ command, settings: broken });
      } catch (error) {
        return (error as Error).message;
      }
      return '';
    });
    for (const rule of rules) {
      const names = rule.keys.map((key) => `${key} (`);
      expect(messages.some((message) => names.every((name) => message.includes(name)))).toBe(true);
    }
  });

  it('need no reward for SFT', () => {
    const settings = [...OWN, 'task.grading=none'];
    expect(resolveConfig({ command: 'sft', settings }).config.rewards).toEqual([]);
  });

  it('ask a model and a task only of commands that need them', () => {
    for (const command of ['train', 'sft', 'expert'] as const) {
      expect(() => resolveConfig({ command, settings: ['task.name=arithmetic'] })).not.toThrow();
    }
    expect(() => resolveConfig({ command: 'demo' })).not.toThrow();
    expect(() =>
      resolveConfig({ command: 'generate', settings: ['model=m', 'rollout.temperature=0'] }),
    ).not.toThrow();
  });
});
