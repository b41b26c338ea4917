/** Whether what completions open is closed where the rewards look. */
import { stepCheck } from '../check.js';
import { type Evidence, notApplicable, pass, warn } from '../outcome.js';

/** Tags that formats ask for; in other markup a tag may stay open for good. */
const TAG =
  /<(answer|final|final_answer|output|reasoning|response|result|solution|think|thinking|tool_call)>/g;
const FEW = 5;

export const formatChecks = [
  stepCheck({
    code: 'B06.closed',
    title: 'Tags that completions open are closed in some of them',
    stage: 'template',
    kind: 'heuristic',
    level: 1,
    threshold: `not: a tag of answers that half of the completions open, ${FEW} or more, and not one closes; those at the limit of length aside`,
    source: 'seed 004: the engine stops at </answer> and leaves it out, so that no answer is well formed',
    remedy:
      'Have the engine keep the stop string (vLLM: include_stop_str_in_output=True), or append it before grading.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B20', 'B26', 'B27', 'B28', 'B30'],
    settles:
      'One completion with its last tokens as the engine returned them, and the engine’s list of stop strings.',
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
  }),
];
