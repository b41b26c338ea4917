/** Names of metrics in other languages, as logs and the tables of their readers have them, in English. */

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

/** Heads of tables in other languages: each is a whole cell, up to what stands in brackets. */
const HEADS: readonly (readonly [RegExp, string])[] = [
  [/^(?:paso|étape|etape|schritt|passo|шаг|ステップ|스텝|단계)s?$/i, 'step'],
  [/^(?:récompense|recompense|belohnung|награда|報酬|平均報酬|보상|평균 보상)s?(?: moyenne)?$/i, 'reward'],
  [/^(?:recompensa)s?(?: (?:media|promedio|média))?$/i, 'reward'],
  [/^(?:mittlere|durchschnittliche) belohnung$/i, 'reward'],
  [/^(?:средняя) награда$/i, 'reward'],
  [/^(?:pérdida|perdida|perte|verlust|perda|потери|потеря|損失|손실)s?$/i, 'loss'],
  [
    /^(?:norma d(?:o|el?) gradiente|norme du gradient|gradientennorm|норма градиента|勾配ノルム|기울기 노름)$/i,
    'grad_norm',
  ],
  [/^(?:entropía|entropia|entropie|энтропия|エントロピー|엔트로피)$/i, 'entropy'],
  [
    /^(?:longitud|longueur|länge|comprimento|длина|平均長|長さ|길이|평균 길이)(?: (?:media|moyenne|média))?$/i,
    'length',
  ],
];

/** Returns whether a line may have names of metrics in Chinese: it has cells, or numbers behind names. */
const maySay = (text: string) => /[\u4e00-\u9fff]/.test(text) && /\||[=:：]\s*[-+]?\d/.test(text);
/** Returns whether a line may be the head of a table in another language: cells without a number. */
const isHead = (text: string) => /\|.*\|/.test(text) && !/\d/.test(text) && text.length < 2000;

/** A line of a log with names of metrics in English. */
export function inEnglish(text: string): string {
  const known = isHead(text) ? text.split('|').map(headInEnglish).join('|') : text;
  return maySay(known) ? known.replace(ANY, (chinese) => ENGLISH.get(chinese)!) : known;
}

function headInEnglish(cell: string): string {
  const name = cell.replace(/\([^()]*\)/g, '').trim();
  return HEADS.find(([words]) => words.test(name))?.[1] ?? cell;
}
