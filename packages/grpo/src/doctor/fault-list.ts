/** The 60 known ways in which a GRPO pipeline goes wrong, by number: what the codes of checks refer to. */
import type { Fault } from './check.js';

/** Who could tell of it, where no check of records or logs does. */
export type Place = 'pre-flight' | 'live model';

export interface KnownFault {
  title: string;
  /** Where what is left to look at must be looked at. */
  left?: Place;
}

export const faultList: Readonly<Record<Fault, KnownFault>> = {
  B01: { title: 'SFT and GRPO render with different templates', left: 'pre-flight' },
  B02: { title: 'The loss uses another prompt than generation' },
  B03: { title: 'The generation prompt is missing' },
  B04: { title: 'The count of BOS tokens is wrong' },
  B05: { title: 'The system prompt is lost, or a date injected', left: 'pre-flight' },
  B06: { title: 'Stop strings or opened tags conflict with the format', left: 'pre-flight' },
  B07: { title: 'The ids that are scored are not those that were sampled' },
  B08: { title: 'The end token is not trained on' },
  B09: { title: 'Prompts or completions are cut off silently' },
  B10: { title: 'Completions are cut out by token count under left padding' },
  B11: { title: 'The completion mask covers wrong positions', left: 'live model' },
  B12: { title: 'Padding is the end token, and the mask loses it' },
  B13: { title: 'Attention mask or positions are missing in scoring' },
  B14: { title: 'Log-probs are summed over padding' },
  B15: { title: 'Penalties apply to the prompt' },
  B16: { title: 'End tokens are unknown to the sampler, or suppressed' },
  B17: { title: 'The completions of a group are identical' },
  B18: { title: 'generation_config.json overrides the sampling that was asked for' },
  B19: { title: 'Scoring distribution and sampling distribution differ' },
  B20: { title: 'A reward function gets another type than it expects' },
  B21: { title: 'Rewards, prompts and answers are misaligned' },
  B22: { title: 'Failures become rewards' },
  B23: { title: 'The grader’s time-out, thread or signal fails' },
  B24: { title: 'Judges of different scales grade one group' },
  B25: { title: 'Reward shaping without effect, or against its purpose', left: 'pre-flight' },
  B26: { title: 'The reward can be hacked' },
  B27: { title: 'The grader misses right answers' },
  B28: { title: 'A reward can never be earned' },
  B29: { title: 'Rewards that are no numbers' },
  B30: { title: 'Groups without differences dominate' },
  B31: { title: 'Completions are grouped wrongly' },
  B32: { title: 'Advantages are whitened over the batch' },
  B33: { title: 'Deviation, ε or clip are not as declared' },
  B34: { title: 'Advantages are not centred' },
  B35: { title: 'Logits and tokens are shifted against each other' },
  B36: { title: 'Log-probs are gathered along the wrong index' },
  B37: { title: 'Only some positions are scored, hidden by a fallback' },
  B38: { title: 'The policy is scored with dropout' },
  B39: { title: 'Sampler and trainer compute differently' },
  B40: { title: 'The ratio is 1 although rollouts are reused' },
  B41: { title: 'The normaliser of accumulated micro-batches is wrong', left: 'live model' },
  B42: { title: 'The entropy term has the wrong sign', left: 'live model' },
  B43: { title: 'The logged loss is not the optimised one' },
  B44: { title: 'Micro-steps are skipped, and the divisor stays' },
  B45: { title: 'Nothing is left to train on, or losses are no numbers' },
  B46: { title: 'The denominator ignores the mask' },
  B47: { title: 'Sign or clip of the policy term is wrong', left: 'live model' },
  B48: { title: 'The KL estimate is misused' },
  B49: { title: 'The KL explodes, or has impossible values' },
  B50: { title: 'The β controller has no effect' },
  B51: { title: 'The reference is not the intended anchor' },
  B52: { title: 'Updates are rounded away' },
  B53: { title: 'Gradients are missing' },
  B54: { title: 'Learning rate, clipping, or late instability' },
  B55: { title: 'The sampler has stale weights', left: 'live model' },
  B56: { title: 'Data leak, repeat, or are not what was configured', left: 'pre-flight' },
  B57: { title: 'Resuming goes wrong', left: 'pre-flight' },
  B58: { title: 'Evaluation does not measure what is trained', left: 'pre-flight' },
  B59: { title: 'Configuration is ignored, or monitors contradict each other', left: 'pre-flight' },
  B60: { title: 'Time or memory is wasted' },
};
