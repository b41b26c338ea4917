/** Names of metrics in Chinese, as many logs and the tables of their readers have them, in English. */

/** The longer ones first: they hold the shorter ones. */
const NAMES: readonly (readonly [string, string])[] = [
  ['奖励标准差', 'reward_std'],
  ['格式奖励', 'format_reward'],
  ['准确率奖励', 'accuracy_reward'],
  ['平均奖励', 'mean_reward'],
  ['奖励', 'reward'],
  ['损失', 'loss'],
  ['梯度范数', 'grad_norm'],
  ['学习率', 'learning_rate'],
  ['生成长度', 'completion_length'],
  ['响应长度', 'completion_length'],
  ['回复长度', 'completion_length'],
  ['输出长度', 'completion_length'],
  ['长度', 'length'],
  ['截断比例', 'clipped_ratio'],
  ['截断比', 'clipped_ratio'],
  ['截断率', 'clipped_ratio'],
  ['准确率', 'accuracy'],
  ['训练步', 'step'],
  ['步数', 'step'],
  ['步骤', 'step'],
  ['熵', 'entropy'],
  ['：', ':'],
  ['，', ', '],
];
const ANY = new RegExp(NAMES.map(([chinese]) => chinese).join('|'), 'g');
const ENGLISH = new Map(NAMES);
/** Returns whether a line may have names of metrics in Chinese: it has cells, or numbers behind names. */
const maySay = (text: string) => /[\u4e00-\u9fff]/.test(text) && /\||[=:：]\s*[-+]?\d/.test(text);

/** A line of a log with names of metrics in English. */
export const inEnglish = (text: string): string =>
  maySay(text) ? text.replace(ANY, (chinese) => ENGLISH.get(chinese)!) : text;
