import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { onFile } from '../errors/file-error.js';
import { UserError } from '../errors/user-error.js';
import { writeFileAtomic } from '../formats/atomic-file.js';
import { writeRandomWeights } from '../models/index.js';
import { type TinyModelSize, writeArithmeticModelFiles } from '../tasks/arithmetic/arithmetic-model.js';

/** What {@link writeTinyModel} takes beside the folder. */
export interface TinyModelOptions extends Partial<TinyModelSize> {
  /** Draws the weights. */
  seed?: number;
}

/** Each message between its role and the end of the line. */
const CHAT_TEMPLATE =
  "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}";

/**
 * Makes a model to try things on, with nothing to download: random weights, 0.4 million of them unless a size is given,
 * every byte of text a token, and a chat template. It knows nothing, but learns a simple reward in a minute.
 *
 * Does nothing when that very model is in the folder already.
 *
 * @returns the folder
 * @throws UserError when the folder holds anything else
 *
 * @example
 * import { loadModel, writeTinyModel } from 'grpo';
 *
 * const model = loadModel(await writeTinyModel('models/tiny'));
 * console.log(model.tokenizer.encode('abc').length); // 3
 */
export async function writeTinyModel(dir: string, options: TinyModelOptions = {}): Promise<string> {
  const { seed = 0, ...size } = options;
  const made = `${dir}.${process.pid}.partial`;
  try {
    await writeArithmeticModelFiles(made, { maxLength: 1024, ...size });
    writeFileAtomic(join(made, 'chat_template.jinja'), CHAT_TEMPLATE);
    writeRandomWeights(made, seed);
    if (!existsSync(dir)) onFile('write', dir, () => renameSync(made, dir));
    else if (!sameFiles(made, dir)) {
      throw new UserError(`${dir} holds something else than this tiny model`, {
        hint: 'Delete it, or give another folder.',
      });
    }
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
  return dir;
}

function sameFiles(a: string, b: string): boolean {
  return onFile('read', b, () => {
    const names = readdirSync(a).sort();
    if (`${names}` !== `${readdirSync(b).sort()}`) return false;
    return names.every((name) => readFileSync(join(a, name)).equals(readFileSync(join(b, name))));
  });
}
