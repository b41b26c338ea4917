import { hasTeacher } from '../sections/teacher.js';
import type { Rule } from './rule.js';

/** A teacher, and rewards without weight. */
export const teacherRules: readonly Rule[] = [
  {
    keys: ['teacher.model', 'teacher.engine', 'kl.beta'],
    check: (config) =>
      hasTeacher(config) && config.kl.beta === 0
        ? 'with kl.beta=0 nothing is learnt from the teacher. Give kl.beta=1, or preset=distill.'
        : undefined,
  },
  {
    keys: ['teacher.engine', 'teacher.url', 'teacher.model'],
    check: ({ teacher: { engine, url, model } }) => {
      if (engine === 'own') return undefined;
      if (url === undefined)
        return `engine=${engine} asks a server, and there is none. Give teacher.url=http://HOST:PORT.`;
      return model === undefined
        ? undefined
        : 'a teacher is either loaded here or asked on a server. Take teacher.model out, or set teacher.engine=own.';
    },
  },
  {
    keys: ['teacher.engine', 'kl.estimator'],
    check: ({ teacher: { engine }, kl: { estimator } }) =>
      engine !== 'own' && estimator === 'full'
        ? 'a server gives the log-probs of tokens, not those of the whole vocabulary. Use kl.estimator=k2.'
        : undefined,
  },
  {
    keys: ['teacher.engine', 'rollout.temperature'],
    check: ({ teacher: { engine }, rollout: { temperature } }) =>
      engine !== 'own' && temperature !== 1
        ? 'a server scores at temperature 1, and the KL compares both at one temperature. Use rollout.temperature=1.'
        : undefined,
  },
  {
    keys: ['teacher.engine', 'rollout.topP', 'rollout.topK', 'rollout.minP', 'rollout.keepSupport'],
    check: ({ teacher: { engine }, rollout: { topP, topK, minP, keepSupport } }) =>
      engine !== 'own' && keepSupport && (topP < 1 || topK > 0 || minP > 0)
        ? 'a server scores over the whole vocabulary, the policy over the ids that sampling kept. Load the teacher here (teacher.model), or sample without topP, topK and minP.'
        : undefined,
  },
  {
    keys: ['teacher.model', 'teacher.engine', 'kl.referenceEvery'],
    check: (config) =>
      hasTeacher(config) && config.kl.referenceEvery > 0
        ? 'the policy would be mixed into the teacher. Take kl.referenceEvery out.'
        : undefined,
  },
  {
    keys: ['advantage.weight', 'kl.beta', 'kl.place', 'entropy.coefficient'],
    check: ({ advantage: { weight }, kl: { beta, place }, entropy: { coefficient } }) =>
      weight === 0 && (beta === 0 || place === 'reward') && coefficient === 0
        ? 'nothing is left to learn from. Give teacher.model, with kl.beta=1 and kl.place=loss.'
        : undefined,
  },
  {
    keys: ['advantage.weight', 'teacher.model', 'teacher.engine', 'entropy.coefficient'],
    check: (config, { command }) =>
      command === 'train' &&
      config.advantage.weight === 0 &&
      !hasTeacher(config) &&
      config.entropy.coefficient === 0
        ? 'the KL is to the starting model, which is where the policy is already. Give teacher.model.'
        : undefined,
  },
  {
    keys: ['advantage.weight', 'advantage.flat', 'groups.refills', 'groups.replay'],
    check: ({ advantage: { weight, flat }, groups: { refills, replay } }) =>
      weight === 0 && (flat === 'drop' || refills > 0 || replay > 0)
        ? 'where the rewards have no weight, groups of equal rewards teach as any other, and these would take them away. Use advantage.flat=zero, groups.refills=0 and groups.replay=0.'
        : undefined,
  },
];
