import { withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { at } from '../log-view.js';
import { changedTexts } from '../measures/text-changes.js';
import { type Evidence, fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

/** Tags that formats ask for; in other markup a tag may stay open for good. */
const TAG =
  /<(answer|final|final_answer|output|reasoning|response|result|solution|think|thinking|tool_call)>/g;
const FEW = 5;
/** Evaluations look at hundreds of completions each. */
const FEW_EVALUATIONS = 5;
/** Fewest steps for which a constant metric is evidence. */
const LONG = 20;

export const b06: Fault = {
  code: 'B06',
  name: 'stop strings',
  title: 'Stop strings or opened tags conflict with the format',
  left: 'pre-flight',
  checks: [
    stepCheck({
      code: 'B06.closed',
      title: 'Some completions close the tag that they open',
      stage: 'template',
      level: 1,
      rank: 2,
      threshold: `no answer tag that at least half of the completions (${FEW} or more) open and none closes; completions at the length limit do not count`,
      sources: ['huggingface/open-r1#560', 'huggingface/open-r1#489', 'huggingface/trl#6966'],
      why: 'An engine that stops at </answer> and drops it leaves no completion well formed.',
      remedy:
        'Have the engine keep the stop string (vLLM: include_stop_str_in_output=True), or append it before grading.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B20', 'B26', 'B27', 'B28', 'B30'],
      settles:
        'One completion with its last tokens as the engine returned them, and the engine’s list of stop strings.',
      proofs: ['log only'],
      needs: ['texts'],
      test({ texts }, { completions }) {
        const finish = completions?.finish;
        const ended = [...texts.keys()].filter((b) => finish?.[b] !== 'length');
        const openers = new Map<string, number[]>();
        for (const b of ended)
          for (const tag of new Set(Array.from(texts[b]!.matchAll(TAG), ([, name]) => name!)))
            openers.set(tag, [...(openers.get(tag) ?? []), b]);
        if (openers.size === 0) return notApplicable('completions with tags such as <answer>');
        const closes = (tag: string) => texts.some((text) => text.includes(`</${tag}>`));
        const open = [...openers].find(
          ([tag, rows]) => rows.length >= Math.max(FEW, ended.length / 2) && !closes(tag),
        );
        const measured = { completions: ended.length, finish: finish !== undefined };
        if (!open) return pass(measured);
        const [tag, rows] = open;
        return warn(
          { ...measured, tag: `<${tag}>`, end: `</${tag}>`, open: rows.length },
          rows.map((completion): Evidence => ({ completion, text: `…${texts[completion]!.slice(-40)}` })),
        );
      },
      says: (m) =>
        say`${m.open} of ${m.completions} completions open ${m.tag} and none closes it${m.finish ? ', though none reached the length limit: the engine stops at' : '. Either the engine stops at'} ${m.end} and drops it${m.finish ? '' : ', or the completions are truncated before it; the finish reasons would show which'}. A reward that looks for ${m.end} pays nothing.`,
    }),
    stepCheck({
      code: 'B06.stop',
      title: 'Rewards see the stop string',
      stage: 'template',
      level: 1,
      rank: 3,
      threshold:
        'a stop string that ended a completion is in its graded text, unless declared.textChanges has `stop`; only warns without declared.textChanges or completions.sampledTexts',
      sources: ['huggingface/open-r1#560', 'huggingface/open-r1#489', 'huggingface/trl#6966'],
      why: 'An engine that stops at </answer> and drops it leaves no completion well formed.',
      remedy: 'Have the engine include the stop string in its output, or append it before grading.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B20', 'B27', 'B28', 'B30'],
      proofs: ['native'],
      needs: ['declared', 'texts', 'finish', 'ids', 'endIds'],
      test({ declared: { stop, textChanges }, texts, finish, ids, endIds }, record) {
        if (!stop?.length) return notApplicable('declared.stop');
        if (textChanges?.includes('stop')) return pass();
        const removed = new Set(
          changedTexts(record)?.flatMap(({ change, completion }) => (change === 'stop' ? [completion] : [])),
        );
        const stopped = [...texts.keys()].filter(
          (b) => removed.has(b) || (finish[b] === 'stop' && !endIds.includes(ids[b]!.at(-1) ?? -1)),
        );
        if (stopped.length === 0) return notApplicable('a completion ended by a stop string');
        // A stop string of white space alone may be trimmed before grading.
        const lack = stopped.filter(
          (b) => removed.has(b) || !stop.some((string) => texts[b]!.includes(string.trim())),
        );
        const measured = { stopped: stopped.length, without: lack.length };
        if (lack.length === 0) return pass(measured);
        const evidence = lack.map((completion) => ({
          completion,
          text: `…${texts[completion]!.slice(-40)}`,
        }));
        return (removed.size > 0 && textChanges ? fail : warn)(measured, evidence);
      },
      says: (m) =>
        say`${m.without} of the ${m.stopped} completions that a stop string ended do not contain it: the rewards never see it.`,
    }),
    logCheck({
      code: 'B06.log',
      title: 'Completions can have the required format',
      stage: 'template',
      level: 1,
      rank: 4,
      threshold: `a reward named for the format is not 0 in all of ${LONG} or more steps (${FEW_EVALUATIONS} or more evaluations) while completions end by themselves. Only informs in a run that learns`,
      sources: ['huggingface/open-r1#560', 'huggingface/open-r1#489', 'huggingface/trl#6966'],
      why: 'The stop string is stripped, or the opening tag is already in the prompt.',
      remedy:
        'Grade the end of the prompt plus a gold completion, as the engine returns it. Check that the stop string is there, and that the opening tag is there exactly once.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B20', 'B28', 'B30', 'B26'],
      settles:
        'Grade one completion with the format reward, with its last tokens as the engine returned them.',
      proofs: ['native'],
      needs: [],
      test(log) {
        const names = log.names(/format/i).filter((name) => !/std|weight/i.test(name));
        if (names.length === 0) return notApplicable('a metric named for the format');
        const enough = (name: string) =>
          /eval|val|test/i.test(name)
            ? withoutNaN(log.column(name)).length >= FEW_EVALUATIONS
            : log.stepsWith(name) >= LONG;
        const judged = names.filter(enough);
        if (judged.length === 0)
          return notApplicable(`${LONG} steps, or ${FEW_EVALUATIONS} evaluations, of a format reward`);
        const cut = withoutNaN(log.column('completions/clipped_ratio'));
        const ends = cut.length === 0 || median(cut) < 0.5;
        const dead = judged.flatMap((name): Evidence[] => {
          const column = log.column(name);
          const all = withoutNaN(column);
          return ends && all.every((value) => value === 0)
            ? [
                {
                  ...at(log, column.indexOf(0), name, 0),
                  values: { entries: all.length },
                },
              ]
            : [];
        });
        const measured = {
          metrics: judged.length,
          dead: dead.length,
          ...(cut.length > 0 && { cut: median(cut) }),
          ...(dead[0] && {
            names: dead.map(({ text }) => text!).join(' and '),
            entries: dead[0].values!.entries!,
          }),
        };
        if (dead.length === 0) return pass(measured);
        return log.course.learnt ? inform(measured, dead) : warn(measured, dead);
      },
      says: (m) =>
        say`${m.names} ${m.dead === 1 ? 'is' : 'are'} 0 in all ${m.entries} entries${m.cut === undefined ? '' : say`, though ${percent(1 - m.cut)} of the completions end by themselves`}: either no completion has the format, or the reward never sees all of it (the engine drops the stop string, or the prompt already holds the opening tag).`,
    }),
  ],
};
