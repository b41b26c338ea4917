import type { Config } from '../config/schema.js';
import { UserError } from '../errors/user-error.js';
import { type LoadedModel, loadModel, type Model, type ModelFolder } from '../models/index.js';
import type { Watch } from '../progress/watch.js';
import { tokenizerFingerprint } from '../text/tokenizer-fingerprint.js';
import { resolveDevice } from './device.js';

/**
 * Loads the teacher of a run.
 *
 * @param student - the model that is trained
 * @throws UserError: its tokens, its context or its kind are not the student's; what `loadModel` throws
 */
export function openTeacher(config: Config, student: Model, watch?: Watch): LoadedModel {
  const name = config.teacher.model!;
  return loadModel(name, {
    dtype: config.dtype,
    device: resolveDevice(config.device),
    watch,
    beforeWeights: (teacher) => requireTeaches(name, teacher, student, config.kl.estimator),
  });
}

function requireTeaches(
  name: string,
  { tokenizer, config }: ModelFolder,
  student: Model,
  estimator: Config['kl']['estimator'],
): void {
  const own = student.decoder.config;
  const refuse = (problem: string, hint: string) => {
    throw new UserError(`the teacher ${name} ${problem}`, { hint });
  };
  if (tokenizerFingerprint(tokenizer) !== tokenizerFingerprint(student.tokenizer))
    refuse(
      'has another tokenizer than the model that is trained: a token of the one is none of the other',
      'Take a teacher of the same family, such as a larger model of it.',
    );
  if ((config.diffusion === undefined) !== (own.diffusion === undefined))
    refuse(
      `${config.diffusion ? 'fills masked places' : 'predicts the next token'}, and the model that is trained does not`,
      'Take a teacher of the same kind.',
    );
  if (estimator === 'full' && config.vocabSize < own.vocabSize)
    refuse(
      `has ${config.vocabSize} rows in its vocabulary projection, the model that is trained ${own.vocabSize}: the KL over the vocabulary would lack some`,
      'Use kl.estimator=k2, which compares the sampled tokens only.',
    );
}
