/** Words below which a completion is too short to say anything. */
const FEWEST_WORDS = 5;

/**
 * A reward after the penalty for completions of fewer than five words: 0.3 × reward − 0.3, but never more than the reward
 * itself. The bound matters: without it the penalty would raise what is below −0.43, and make a bad answer better by
 * making it shorter.
 *
 * @param words - of the completion
 */
export const withBrevity = (reward: number, words: number): number =>
  words >= FEWEST_WORDS ? reward : Math.min(reward, 0.3 * reward - 0.3);
