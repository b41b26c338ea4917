import { logCheck, stepCheck } from '../check.js';
import { companionsOf, type Dated, datedOf, largeBreak, movementOf, whenText } from '../course/movements.js';
import type { Fault } from '../fault.js';
import { inputs } from '../inputs.js';
import { entryAt } from '../log-view.js';
import { endsTrained, otherStops } from '../measures/end-token.js';
import { inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

/** Fewest entries: the levels of the first and the last eighth are compared. */
const FEWEST = 16;

/** The share of truncated completions from a level to another: at a step, or between two until it healed. */
type Rise = Dated & {
  from: number;
  to: number;
  until?: number;
  reward?: number;
  /** The reward before it rose; missing where it did not. */
  gainedFrom?: number;
  moved?: string;
};

export const b08: Fault = {
  code: 'B08',
  name: 'untrained end token',
  title: 'The end token is not trained on',
  checks: [
    stepCheck({
      code: 'B08.end',
      title: 'The end token of a completion is trained on',
      stage: 'masks',
      level: 2,
      rank: 2,
      threshold: 'the end token of every completion that is trained on is scored and has mask 1',
      sources: ['unslothai/unsloth-zoo#832', 'rasbt/reasoning-from-scratch#185', 'pytorch/torchtune#949'],
      remedy:
        'Build the mask from lengths that count the end token; keep the end token when decoding to ids.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B16'],
      proofs: ['native'],
      needs: ['ids', 'endIds', 'scoredIds', 'masks'],
      test(given, record) {
        const padId = record.tokenizer?.padId;
        // A lost end token that is the padding token was probably lost by comparing ids: B12.
        return endsTrained(
          given,
          record,
          (id) => id !== padId,
          'a completion ended by an end token other than padding',
          {},
        );
      },
      says: (m) =>
        say`${m.left} of the ${m.ended} completions that ended are trained without their end token: the model forgets how to stop.`,
    }),
    stepCheck({
      code: 'B08.dropped',
      title: 'A completion that ended has its end token',
      stage: 'tokens',
      level: 2,
      rank: 2,
      threshold:
        'reported when three quarters of the completions that ended before the limit, of 4 or more, have no end token as their last; by the reason of their end, else by the declared limit. Not applicable where stop strings are declared, or the sampler has other criteria to stop by',
      sources: ['unslothai/unsloth-zoo#832', 'rasbt/reasoning-from-scratch#185', 'pytorch/torchtune#949'],
      why: 'A sampler of one’s own may hand over its texts, or cut the ids before the end token.',
      remedy: 'Hand over the ids as they were sampled, the end token among them.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B16', 'B09'],
      settles: 'The last id of one completion, as the sampler returned it.',
      proofs: ['TRL run'],
      needs: ['ids', 'endIds'],
      test({ ids, endIds }, record) {
        const { stop, rollout } = record.declared ?? {};
        if (stop?.length || otherStops(record).length > 0)
          return notApplicable('completions that nothing but an end token ends');
        const limit = rollout?.maxNewTokens;
        const finish = record.completions?.finish;
        if (!finish && limit === undefined) return notApplicable('completions.finish, or a declared limit');
        const sources = inputs.sources.from(record);
        const ended = ids.filter(
          (row, b) =>
            row.length > 0 &&
            (sources?.[b]?.at(-1) ?? 0) === 0 &&
            (limit === undefined || row.length < limit) &&
            (finish?.[b] ?? 'stop') === 'stop',
        );
        if (ended.length < 4) return notApplicable('4 completions that ended before the limit');
        const lost = ended.filter((row) => !endIds.includes(row.at(-1)!)).length;
        const measured = { ended: ended.length, lost };
        return 4 * lost >= 3 * ended.length ? warn(measured) : pass(measured);
      },
      says: (m) =>
        say`${m.lost} of the ${m.ended} completions that ended before the limit have no end token: it was taken away before training, and the model is never taught to stop.`,
    }),
    logCheck({
      code: 'B08.log',
      title: 'Completions go on ending by themselves',
      stage: 'generation',
      level: 8,
      rank: 6,
      threshold: `over ${FEWEST} entries or more, the share of truncated completions does not rise by a quarter of all, beyond its noise, from the first eighth to the last; of fewer entries, not by 30 % of all between values that lie apart, or in equal order; a rise that healed only informs`,
      sources: ['unslothai/unsloth-zoo#832', 'rasbt/reasoning-from-scratch#185'],
      why: 'A quarter of all completions lost its end; the share swings by a tenth in runs that stay well.',
      remedy:
        'Check that the loss mask covers the end token, and that the reward does not pay for what comes after the answer. Then give more room.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      settles:
        'The mask at the end token in a step’s record, and the probability of the end token where completions ended.',
      needs: ['completions/clipped_ratio'],
      test(log): Outcome<Rise> {
        const cut = log.course.of('cut');
        const isShort = (cut?.points.length ?? 0) < FEWEST;
        const short = isShort ? largeBreak(log.course, 'cut') : undefined;
        if (!cut || (isShort && !(short?.isShown && short.to > short.from)))
          return notApplicable(`${FEWEST} entries`);
        const moved = short ?? movementOf(log.course, 'cut');
        const isMore = (level: number) => level >= cut.start + 0.25;
        if (moved && isMore(moved.to)) {
          const { from, to, step } = moved;
          const reward = log.course.of('reward');
          const gain = log.course.lastingGain;
          const measured = {
            from,
            to,
            ...datedOf(moved),
            ...(reward && { reward: reward.end }),
            ...(gain && { gainedFrom: gain.from }),
          };
          return warn({ ...measured, moved: companionsOf(log.course, moved) }, [
            entryAt(log, 'completions/clipped_ratio', step),
          ]);
        }
        const healed = cut.healed(isMore);
        if (!healed) return pass({ from: cut.start, to: cut.end });
        return inform({ from: cut.start, to: healed.level, step: healed.from, until: healed.to }, [
          entryAt(log, 'completions/clipped_ratio', healed.from),
        ]);
      },
      says: (m) =>
        m.until === undefined
          ? say`The completions stop ending by themselves: truncated ${percent(m.from)} → ${percent(m.to)} ${whenText(m)}${m.reward === undefined ? '' : m.gainedFrom === undefined ? say`, at a reward of ${m.reward} at the end` : say`, while the reward rose from ${m.gainedFrom} to ${m.reward}: it may pay for what comes after the answer`}. ${m.moved!}`
          : say`${m.step === m.until ? say`At step ${m.step}` : say`Between steps ${m.step} and ${m.until}`} up to ${percent(m.to)} of the completions were truncated; that healed.`,
    }),
  ],
};
